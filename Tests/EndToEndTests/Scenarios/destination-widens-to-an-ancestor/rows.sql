-- Entity numbers: Animal 1, Cat 2, Dog 3, Owner 4, Shop 5.
INSERT INTO ZANIMAL (Z_PK, Z_ENT, Z_OPT, ZN, Z4FRIENDS) VALUES (1, 1, 1, 'a', NULL), (2, 2, 1, 'b', 2), (3, 2, 1, 'c', 2), (4, 2, 1, 'd', 1);
INSERT INTO ZDOG (Z_PK, Z_ENT, Z_OPT, ZD) VALUES (1, 3, 1, 'x'), (2, 3, 1, 'y');
INSERT INTO ZOWNER (Z_PK, Z_ENT, Z_OPT, ZN, ZBEST) VALUES (1, 4, 1, 'p', 3), (2, 4, 1, 'q', 2), (3, 4, 1, 'r', NULL);
INSERT INTO ZSHOP (Z_PK, Z_ENT, Z_OPT, ZN) VALUES (1, 5, 1, 's');
INSERT INTO Z_3SHOPS (Z_3SEEN, Z_5SHOPS) VALUES (2, 1), (1, 1);
