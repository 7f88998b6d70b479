INSERT INTO ZLIST (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 2, 1, 'one'), (2, 2, 1, 'two');
INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZTEXT, ZPOSITION, ZLIST) VALUES
  (1, 1, 1, 'c', 3, 1), (2, 1, 1, 'a', 1, 1), (3, 1, 1, 'z', NULL, 1), (4, 1, 1, 'b', 3, 1),
  (5, 1, 1, 'y', 9, 2), (6, 1, 1, 'x', 8, 2), (7, 1, 1, 'w', 7, NULL);
UPDATE Z_PRIMARYKEY SET Z_MAX = 7 WHERE Z_ENT = 1;
UPDATE Z_PRIMARYKEY SET Z_MAX = 2 WHERE Z_ENT = 2;
