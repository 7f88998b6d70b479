-- Entity numbers: Animal 1, Cat 2, Dog 3, Car 4, Engine 5, House 6, Lamp 7, Person 8, Stall 9.
INSERT INTO ZANIMAL (Z_PK, Z_ENT, Z_OPT) VALUES (1, 2, 1), (2, 3, 1), (3, 1, 1);
INSERT INTO ZENGINE (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 5, 1, 'V8');
INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 8, 1, 'Ada'), (2, 8, 1, 'Bob');
INSERT INTO ZHOUSE (Z_PK, Z_ENT, Z_OPT, ZRESIDENT) VALUES (1, 6, 1, 2);
INSERT INTO ZCAR (Z_PK, Z_ENT, Z_OPT, ZOWNER, ZNAME) VALUES (1, 4, 1, 1, 'a'), (2, 4, 1, NULL, 'b');
INSERT INTO ZSTALL (Z_PK, Z_ENT, Z_OPT, ZPET, Z1_PET) VALUES (1, 9, 1, 1, 2), (2, 9, 1, 2, 3), (3, 9, 1, NULL, NULL), (4, 9, 1, 3, 1);
