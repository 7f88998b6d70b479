-- No lamp is there, each person has a house, and the third stall had no pet before either.
INSERT INTO ZANIMAL (Z_PK, Z_ENT, Z_OPT) VALUES (1, 2, 1), (2, 1, 1);
INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 5, 1, 'Ada'), (2, 5, 1, 'Bob');
INSERT INTO ZHOUSE (Z_PK, Z_ENT, Z_OPT, ZRESIDENT, ZNAME) VALUES (1, 3, 1, 2, 'a'), (2, 3, 1, 1, 'b'), (3, 3, 1, NULL, 'c');
INSERT INTO ZSTALL (Z_PK, Z_ENT, Z_OPT, ZPET, Z1_PET) VALUES (1, 6, 1, 1, 2), (2, 6, 1, 2, 1), (3, 6, 1, NULL, NULL);
