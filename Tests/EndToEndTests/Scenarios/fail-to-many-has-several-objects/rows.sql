INSERT INTO ZBOX (Z_PK, Z_ENT, Z_OPT, ZN) VALUES (1, 1, 1, 'a'), (2, 1, 1, 'b'), (3, 1, 1, 'c');
INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZN, ZBOX, Z1BARE) VALUES (1, 2, 1, 'x', 2, 3), (2, 2, 1, 'y', 1, NULL), (3, 2, 1, 'z', 1, 1);
INSERT INTO Z_1MARKS (Z_1BOXES, Z_2MARKS) VALUES (1, 3), (3, 3), (1, 2);
