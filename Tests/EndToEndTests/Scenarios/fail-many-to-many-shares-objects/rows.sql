INSERT INTO ZEVENT (Z_PK, Z_ENT, Z_OPT, ZN) VALUES (1, 1, 1, 'a'), (2, 1, 1, 'b'), (3, 1, 1, 'c');
INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZN) VALUES (1, 2, 1, 'p'), (2, 2, 1, 'q'), (3, 2, 1, 'r'), (4, 2, 1, 's');
INSERT INTO Z_1GUESTS (Z_1EVENTS, Z_2GUESTS, Z_FOK_2GUESTS) VALUES (1, 2, 3072), (1, 1, 4096), (3, 4, 2048), (2, 4, 2048);
