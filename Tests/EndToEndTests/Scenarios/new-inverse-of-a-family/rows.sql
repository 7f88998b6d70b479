-- Entity numbers: Card 1, Item 2, Book 3, Film 4. The third card has two items, of which that with the lowest key counts.
INSERT INTO ZCARD (Z_PK, Z_ENT, Z_OPT, ZN) VALUES (1, 1, 1, 'a'), (2, 1, 1, 'b'), (3, 1, 1, 'c'), (4, 1, 1, 'd');
INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZCARD, ZN) VALUES (1, 3, 1, 2, 'x'), (2, 4, 1, 1, 'y'), (3, 4, 1, 3, 'z'), (4, 3, 1, 3, 'w'), (5, 3, 1, NULL, 'v');
