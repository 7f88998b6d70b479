INSERT INTO ZCONV (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1), (2, 1, 1);
INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT) VALUES (1, 2, 1), (2, 2, 1);
INSERT INTO ZROLE (Z_PK, Z_ENT, Z_OPT, ZCONV, ZNAME) VALUES (1, 3, 1, 1, 'a'), (2, 4, 1, 1, 'b'), (3, 3, 1, 2, 'a'), (4, 4, 1, 1, 'a'), (5, 3, 1, NULL, 'a'), (6, 3, 1, NULL, 'a');
