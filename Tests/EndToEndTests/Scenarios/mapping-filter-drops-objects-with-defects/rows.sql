INSERT INTO ZPOST (Z_PK, Z_ENT, Z_OPT, ZKIND, ZTITLE) VALUES (1, 1, 1, 'draft', NULL), (2, 1, 1, 'post', 'b'), (3, 1, 1, 'post', NULL);
