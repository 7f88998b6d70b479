INSERT INTO ZU (Z_PK, Z_ENT, Z_OPT, ZMAIL) VALUES (1, 1, 1, 'a'), (2, 1, 1, 'b'), (3, 1, 1, 'a'), (4, 1, 1, NULL), (5, 1, 1, NULL);
