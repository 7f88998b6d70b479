/// Tables of operators and comparisons.
enum OperatorTables {
  static let arithmetic = #"""
    # + | Predicate Format String Syntax, basic arithmetic; nil: our choice
    1 + 2 ~> 3
    1 + 2 * 3 ~> 7
    (1 + 2) * 3 ~> 9
    pages + 0.5 ~> 300.5
    nil + 1 ~> nil
    pages + rating ~> nil
    1 + ~> ! the text ends where an expression is expected
    # - | Predicate Format String Syntax, basic arithmetic; nil: our choice
    5 - 3 ~> 2
    5 - 3 - 1 ~> 1
    5 - (3 - 1) ~> 3
    -pages ~> -300
    5 - -2 ~> 7
    -rating ~> nil
    5 - nil ~> nil
    # * | Predicate Format String Syntax, basic arithmetic; nil: our choice
    2 * 3 ~> 6
    2 * 3 * 4 ~> 24
    2 * (3 + 4) ~> 14
    2 * -3 ~> -6
    2 * nil ~> nil
    rating * 2 ~> nil
    # / | Predicate Format String Syntax, basic arithmetic; whole division, nil: our choice
    6 / 3 ~> 2
    7 / 2 ~> 3
    7 / 2.0 ~> 3.5
    12 / 2 / 3 ~> 2
    1 / nil ~> nil
    rating / 2 ~> nil
    # ** | Predicate Format String Syntax, basic arithmetic; right to left, sign: our choice
    2 ** 3 ~> 8
    2 ** 3 ** 2 ~> 512
    (2 ** 3) ** 2 ~> 64
    -2 ** 2 ~> -4
    (-2) ** 2 ~> 4
    2 ** -1 ~> 0.5
    nil ** 2 ~> nil
    2 ** rating ~> nil
    # UNION | NSExpression, union sets; order, nil as empty: our choice
    {1, 2} UNION {2, 3} ~> ordered {1, 2, 3}
    none UNION {1} ~> ordered {1}
    numbers UNION numbers ~> ordered {3, 1, 2}
    {1} UNION nil ~> ordered {1}
    nobody UNION nil ~> ordered {}
    1 UNION {2} ~> ! a collection
    # INTERSECT | NSExpression, intersect sets; order, nil as empty: our choice
    {1, 2} INTERSECT {2, 3} ~> ordered {2}
    numbers INTERSECT {1} ~> ordered {1}
    {1} INTERSECT {1.0} ~> ordered {1}
    {1} INTERSECT {2} ~> ordered {}
    {1} INTERSECT nil ~> ordered {}
    nobody INTERSECT {1} ~> ordered {}
    # MINUS | NSExpression, minus sets; order, nil as empty: our choice
    {1, 2} MINUS {2, 3} ~> ordered {1}
    numbers MINUS numbers ~> ordered {}
    numbers MINUS {9} ~> ordered {3, 1, 2}
    {1, 2} MINUS {1} MINUS {2} ~> ordered {}
    {1} MINUS nil ~> ordered {1}
    nobody MINUS {1} ~> ordered {}
    """#

  static let comparisons = #"""
    # == | Predicate Format String Syntax, basic comparisons
    ? 1 == 1.0 ~> TRUE
    ? TRUE == 1 ~> TRUE
    ? title = "Émile" ~> TRUE
    ? title == "émile" ~> FALSE
    ? title ==[cd] "EMILE" ~> TRUE
    ? "1" == 1 ~> FALSE
    ? nil == nil ~> TRUE
    ? rating == nil ~> TRUE
    ? pages == nil ~> FALSE
    ? author == $source.author ~> TRUE
    # != | Predicate Format String Syntax, basic comparisons
    ? 1 != 2 ~> TRUE
    ? 1 <> 1 ~> FALSE
    ? "a" != "A" ~> TRUE
    ? "a" !=[c] "A" ~> FALSE
    ? rating != nil ~> FALSE
    ? pages != nil ~> TRUE
    # < | Predicate Format String Syntax, basic comparisons; nil, order of texts: our choice
    ? 1 < 2 ~> TRUE
    ? "a" < "b" ~> TRUE
    ? published < now() ~> TRUE
    ? 2 < 1.5 ~> FALSE
    ? nil < 1 ~> FALSE
    ? 1 < rating ~> FALSE
    ? "a" < 1 ~> ! cannot be compared
    # <= | Predicate Format String Syntax, basic comparisons; nil: our choice
    ? 1 <= 1 ~> TRUE
    ? 1 =< 2 ~> TRUE
    ? 3 <= 2 ~> FALSE
    ? "B" <=[c] "b" ~> TRUE
    ? nil <= nil ~> FALSE
    ? rating <= 1 ~> FALSE
    # > | Predicate Format String Syntax, basic comparisons; nil: our choice
    ? 2 > 1 ~> TRUE
    ? 1 > 1 ~> FALSE
    ? 9007199254740993 > 9007199254740992.0 ~> TRUE
    ? cost > 12 ~> TRUE
    ? nil > 1 ~> FALSE
    ? rating > -1 ~> FALSE
    # >= | Predicate Format String Syntax, basic comparisons; nil: our choice
    ? 2 >= 2 ~> TRUE
    ? 2 => 1 ~> TRUE
    ? 1 >= 2 ~> FALSE
    ? "b" >= "a" ~> TRUE
    ? nil >= nil ~> FALSE
    ? 1 >= rating ~> FALSE
    # BETWEEN | Predicate Format String Syntax, basic comparisons; nil: our choice
    ? 2 BETWEEN {1, 3} ~> TRUE
    ? 1 BETWEEN {1, 3} ~> TRUE
    ? 4 BETWEEN {1, 3} ~> FALSE
    ? "b" BETWEEN {"a", "c"} ~> TRUE
    ? nil BETWEEN {1, 3} ~> FALSE
    ? 2 BETWEEN nil ~> FALSE
    ? 2 BETWEEN {1} ~> ! takes 2 arguments
    # IN | Predicate Format String Syntax, aggregate operations; nil: our choice
    ? 1 IN {1, 2} ~> TRUE
    ? 3 IN {1, 2} ~> FALSE
    ? "A" IN[c] {"a"} ~> TRUE
    ? "mil" IN title ~> TRUE
    ? nil IN holes ~> TRUE
    ? 1 IN nil ~> FALSE
    ? 1 IN 2 ~> ! a collection or a text
    # CONTAINS | Predicate Format String Syntax, string comparisons; nil: our choice
    ? title CONTAINS "mil" ~> TRUE
    ? title CONTAINS[cd] "EM" ~> TRUE
    ? title CONTAINS "" ~> TRUE
    ? numbers CONTAINS 3 ~> TRUE
    ? numbers CONTAINS 4 ~> FALSE
    ? nil CONTAINS "a" ~> FALSE
    ? title CONTAINS nil ~> FALSE
    # BEGINSWITH | Predicate Format String Syntax, string comparisons; nil: our choice
    ? title BEGINSWITH "É" ~> TRUE
    ? title BEGINSWITH[cd] "e" ~> TRUE
    ? title BEGINSWITH "e" ~> FALSE
    ? title BEGINSWITH "" ~> TRUE
    ? nil BEGINSWITH "a" ~> FALSE
    ? title BEGINSWITH nil ~> FALSE
    ? pages BEGINSWITH "3" ~> ! takes a text
    # ENDSWITH | Predicate Format String Syntax, string comparisons; nil: our choice
    ? title ENDSWITH "ile" ~> TRUE
    ? title ENDSWITH[c] "ILE" ~> TRUE
    ? title ENDSWITH "x" ~> FALSE
    ? "a" ENDSWITH "aa" ~> FALSE
    ? rating ENDSWITH "a" ~> FALSE
    ? title ENDSWITH nil ~> FALSE
    # LIKE | Predicate Format String Syntax, string comparisons; nil: our choice
    ? title LIKE "*mi*" ~> TRUE
    ? title LIKE "?mile" ~> TRUE
    ? title LIKE[cd] "e?ILE" ~> TRUE
    ? title LIKE "mile" ~> FALSE
    ? "a*b" LIKE "a\\*b" ~> TRUE
    ? "" LIKE "*" ~> TRUE
    ? nil LIKE "*" ~> FALSE
    ? title LIKE nil ~> FALSE
    # MATCHES | Predicate Format String Syntax, string comparisons: ICU; nil: our choice
    ? title MATCHES ".mile" ~> TRUE
    ? title MATCHES "mile" ~> FALSE
    ? "ab" MATCHES "a|ab" ~> TRUE
    ? "ABC" MATCHES[c] "[a-c]+" ~> TRUE
    ? title MATCHES[d] "Emile" ~> TRUE
    ? "a" MATCHES "(" ~> ! not a regular expression
    ? nil MATCHES ".*" ~> FALSE
    ? title MATCHES nil ~> FALSE
    """#

  static let quantities = #"""
    # AND | Predicate Format String Syntax, boolean predicates
    ? 1 == 1 AND 2 == 2 ~> TRUE
    ? 1 == 1 && 2 == 3 ~> FALSE
    ? 1 == 2 AND nothing == 1 ~> FALSE
    ? 1 == 1 AND (2 == 2 AND 3 == 3) ~> TRUE
    ? rating == nil AND pages > 1 ~> TRUE
    ? rating > nil AND pages > 1 ~> FALSE
    # OR | Predicate Format String Syntax, boolean predicates
    ? 1 == 2 OR 2 == 2 ~> TRUE
    ? 1 == 2 || 2 == 3 ~> FALSE
    ? 1 == 1 OR nothing == 1 ~> TRUE
    ? 1 == 1 OR 1 == 2 AND 1 == 3 ~> TRUE
    ? rating > 1 OR rating == nil ~> TRUE
    ? rating > 1 OR rating < 1 ~> FALSE
    # NOT | Predicate Format String Syntax, boolean predicates; two-valued with nil: our choice
    ? NOT 1 == 2 ~> TRUE
    ? ! 1 == 1 ~> FALSE
    ? NOT (1 == 2 OR 1 == 1) ~> FALSE
    ? NOT NOT 1 == 1 ~> TRUE
    ? NOT rating > 1 ~> TRUE
    ? NOT rating == nil ~> FALSE
    # ANY | Predicate Format String Syntax, aggregate operations; nil as empty: our choice
    ? ANY tags.name == "b" ~> TRUE
    ? ANY numbers > 3 ~> FALSE
    ? ANY tags.weight == nil ~> TRUE
    ? ANY none == 1 ~> FALSE
    ? ANY nobody == 1 ~> FALSE
    ? ANY title == "x" ~> ! a collection
    # SOME | Predicate Format String Syntax, aggregate operations: as ANY
    ? SOME tags.name == "b" ~> TRUE
    ? SOME tags.name == "z" ~> FALSE
    ? SOME numbers IN {7, 3} ~> TRUE
    ? SOME none == 1 ~> FALSE
    ? SOME holes == nil ~> TRUE
    ? SOME nobody == nil ~> FALSE
    # ALL | Predicate Format String Syntax, aggregate operations; nil as empty: our choice
    ? ALL numbers > 0 ~> TRUE
    ? ALL numbers > 1 ~> FALSE
    ? ALL none == 1 ~> TRUE
    ? ALL tags.name MATCHES "[abc]" ~> TRUE
    ? ALL holes != nil ~> FALSE
    ? ALL nobody == 1 ~> TRUE
    # NONE | Predicate Format String Syntax, aggregate operations: NOT ANY
    ? NONE numbers > 3 ~> TRUE
    ? NONE numbers > 2 ~> FALSE
    ? NONE none == 1 ~> TRUE
    ? NONE tags.name == "a" ~> FALSE
    ? NONE holes == nil ~> FALSE
    ? NONE nobody == 1 ~> TRUE
    # [cd] | Predicate Format String Syntax, string comparisons
    ? "É" ==[d] "E" ~> TRUE
    ? "É" ==[c] "é" ~> TRUE
    ? "É" ==[cd] "e" ~> TRUE
    ? "É" ==[c] "e" ~> FALSE
    ? "e" ==[n] "e" ~> TRUE
    ? nil ==[cd] nil ~> TRUE
    ? rating ==[cd] "a" ~> FALSE
    ? "a" ==[x] "a" ~> ! c, d or cd
    """#
}
