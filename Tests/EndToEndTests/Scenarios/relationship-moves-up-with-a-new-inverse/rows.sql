INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZN, ZLAST) VALUES (1, 2, 1, 'a', 2), (2, 2, 1, 'b', NULL), (3, 2, 1, 'c', 1);
INSERT INTO ZLIB (Z_PK, Z_ENT, Z_OPT, ZN, ZLASTBOOK) VALUES (1, 3, 1, 'x', 3), (2, 3, 1, 'y', 1), (3, 3, 1, 'z', NULL);
