INSERT INTO ZP (Z_PK, Z_ENT, Z_OPT, ZNAME, ZSIZE, ZSIZE1) VALUES
 (1, 1, 1, 'p', NULL, NULL), (2, 2, 1, 'a', 3, NULL), (3, 3, 1, 'b', NULL, 4);
