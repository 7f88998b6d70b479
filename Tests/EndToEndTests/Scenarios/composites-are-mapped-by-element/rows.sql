INSERT INTO ZDRINK (Z_PK, Z_ENT, Z_OPT, ZID, ZPERSON, ZYEAR, ZID1, ZAMOUNT, ZCURRENCY) VALUES
  (1, 1, 1, 'author 1', 'Ada', 1901, 'drink 1', 7, 'NZD'),
  (2, 1, 1, NULL, NULL, NULL, 'drink 2', 8, NULL),
  (3, 1, 4, 'author 3', NULL, -3, 'drink 3', NULL, 'USD');
UPDATE Z_PRIMARYKEY SET Z_MAX = 3;
