/// Tables of the built-in functions.
enum FunctionTables {
  static let numbers = #"""
    # add:to: | NSExpression, function list; nil, overflow: our choice
    add:to:(2, 3) ~> 5
    add:to:(2, 0.5) ~> 2.5
    add:to:(cost, 1) ~> CAST("13.5", "NSDecimalNumber")
    add:to:(nil, 3) ~> nil
    add:to:(3, rating) ~> nil
    add:to:(published, 20) ~> CAST(120.0, "NSDate")
    add:to:(9223372036854775807, 1) ~> ! too large
    add:to:("a", 1) ~> ! takes a number, not a text
    # from:subtract: | NSExpression, function list; nil, dates: our choice
    from:subtract:(5, 3) ~> 2
    from:subtract:(5, 3.5) ~> 1.5
    from:subtract:(published, 40) ~> CAST(60.0, "NSDate")
    from:subtract:(published, published) ~> 0.0
    from:subtract:(nil, 3) ~> nil
    from:subtract:(3, nil) ~> nil
    # multiply:by: | NSExpression, function list; nil: our choice
    multiply:by:(4, 3) ~> 12
    multiply:by:(4, 0.5) ~> 2.0
    multiply:by:(cost, 2) ~> CAST("25", "NSDecimalNumber")
    multiply:by:(TRUE, 3) ~> 3
    multiply:by:(nil, 3) ~> nil
    multiply:by:(3, rating) ~> nil
    # divide:by: | NSExpression, function list; whole numbers divide whole, zero, nil: our choice
    divide:by:(7, 2) ~> 3
    divide:by:(7.0, 2) ~> 3.5
    divide:by:(-7, 2) ~> -3
    divide:by:(1, 0) ~> ! division by zero
    divide:by:(1.0, 0) ~> CAST("inf", "NSNumber")
    divide:by:(nil, 2) ~> nil
    divide:by:(2, nil) ~> nil
    # modulus:by: | NSExpression, function list; nil, negative operands: our choice
    modulus:by:(7, 3) ~> 1
    modulus:by:(-7, 3) ~> -1
    modulus:by:(7.5, 2) ~> 1.5
    modulus:by:(7, 0) ~> ! division by zero
    modulus:by:(nil, 3) ~> nil
    modulus:by:(3, nil) ~> nil
    # raise:toPower: | NSExpression, function list; whole results, nil: our choice
    raise:toPower:(2, 10) ~> 1024
    raise:toPower:(2, -1) ~> 0.5
    raise:toPower:(2.0, 3) ~> 8.0
    raise:toPower:(10, 30) ~> 1e+30
    raise:toPower:(nil, 2) ~> nil
    raise:toPower:(2, nil) ~> nil
    # sqrt: | NSExpression, function list; nil, negative: our choice
    sqrt(9) ~> 3.0
    sqrt:(2.25) ~> 1.5
    sqrt(0) ~> 0.0
    sqrt(-1) ~> nil
    sqrt(nil) ~> nil
    sqrt(rating) ~> nil
    # log: | NSExpression, function list: base 10; nil: our choice
    log(100) ~> 2.0
    log(1) ~> 0.0
    log(0) ~> CAST("-inf", "NSNumber")
    log(-1) ~> nil
    log(nil) ~> nil
    log(rating) ~> nil
    # ln: | NSExpression, function list: base e; nil: our choice
    ln(1) ~> 0.0
    ln(exp(2)) ~> 2.0
    ln(0) ~> CAST("-inf", "NSNumber")
    ln(-1) ~> nil
    ln(nil) ~> nil
    ln(rating) ~> nil
    # exp: | NSExpression, function list; nil: our choice
    exp(0) ~> 1.0
    exp(1) ~> 2.718281828459045
    exp:(FALSE) ~> 1.0
    exp("1") ~> ! takes a number
    exp(nil) ~> nil
    exp(rating) ~> nil
    # ceiling: | NSExpression, function list; nil: our choice
    ceiling(1.2) ~> 2.0
    ceiling(-1.2) ~> -1.0
    ceiling(3) ~> 3
    ceiling(cost) ~> CAST("13", "NSDecimalNumber")
    ceiling(nil) ~> nil
    ceiling(rating) ~> nil
    # floor: | NSExpression, function list; nil: our choice
    floor(1.8) ~> 1.0
    floor(-1.2) ~> -2.0
    floor(3) ~> 3
    floor(cost) ~> CAST("12", "NSDecimalNumber")
    floor(nil) ~> nil
    floor(rating) ~> nil
    # trunc: | NSExpression, function list; nil: our choice
    trunc(1.8) ~> 1.0
    trunc(-1.8) ~> -1.0
    trunc(3) ~> 3
    trunc(CAST("-2.7", "NSDecimalNumber")) ~> CAST("-2", "NSDecimalNumber")
    trunc(nil) ~> nil
    trunc(rating) ~> nil
    # round: | our choice: not in the function list, halves away from zero
    round(1.5) ~> 2.0
    round(-1.5) ~> -2.0
    round(1.4) ~> 1.0
    round(CAST("2.5", "NSDecimalNumber")) ~> CAST("3", "NSDecimalNumber")
    round(nil) ~> nil
    round(rating) ~> nil
    # abs: | NSExpression, function list; nil: our choice
    abs(-3) ~> 3
    abs(3) ~> 3
    abs(-2.5) ~> 2.5
    abs(-9223372036854775808) ~> ! too large
    abs(nil) ~> nil
    abs(rating) ~> nil
    # bitwiseAnd:with: | NSExpression, function list; nil: our choice
    bitwiseAnd:with:(6, 3) ~> 2
    bitwiseAnd:with:(0xFF, 0x0F) ~> 15
    bitwiseAnd:with:(-1, 8) ~> 8
    bitwiseAnd:with:(1.5, 1) ~> ! a whole number
    bitwiseAnd:with:(nil, 1) ~> nil
    bitwiseAnd:with:(1, nil) ~> nil
    # bitwiseOr:with: | NSExpression, function list; nil: our choice
    bitwiseOr:with:(6, 3) ~> 7
    bitwiseOr:with:(0b100, 0b001) ~> 5
    bitwiseOr:with:(0, 0) ~> 0
    bitwiseOr:with:("1", 1) ~> ! takes a number
    bitwiseOr:with:(nil, 1) ~> nil
    bitwiseOr:with:(1, nil) ~> nil
    # bitwiseXor:with: | NSExpression, function list; nil: our choice
    bitwiseXor:with:(6, 3) ~> 5
    bitwiseXor:with:(1, 1) ~> 0
    bitwiseXor:with:(-1, 0) ~> -1
    bitwiseXor:with:(TRUE, FALSE) ~> 1
    bitwiseXor:with:(nil, 1) ~> nil
    bitwiseXor:with:(1, nil) ~> nil
    # leftshift:by: | NSExpression, function list; nil, 64 places and more: our choice
    leftshift:by:(1, 4) ~> 16
    leftshift:by:(3, 0) ~> 3
    leftshift:by:(1, 64) ~> 0
    leftshift:by:(8, -1) ~> 4
    leftshift:by:(nil, 1) ~> nil
    leftshift:by:(1, nil) ~> nil
    # rightshift:by: | NSExpression, function list; nil, 64 places and more: our choice
    rightshift:by:(16, 4) ~> 1
    rightshift:by:(3, 0) ~> 3
    rightshift:by:(-8, 1) ~> -4
    rightshift:by:(8, 64) ~> 0
    rightshift:by:(nil, 1) ~> nil
    rightshift:by:(1, nil) ~> nil
    # onesComplement: | NSExpression, function list; nil: our choice
    onesComplement:(0) ~> -1
    onesComplement:(5) ~> -6
    onesComplement(-1) ~> 0
    onesComplement(1.5) ~> ! a whole number
    onesComplement(nil) ~> nil
    onesComplement(rating) ~> nil
    # now | NSExpression, function list; one moment for a whole migration: our choice
    now() ~> CAST(1000.0, "NSDate")
    now() - published ~> 900.0
    now() + 1 ~> CAST(1001.0, "NSDate")
    now() + nil ~> nil
    TERNARY(rating == nil, now(), nil) ~> CAST(1000.0, "NSDate")
    now(1) ~> ! takes 0 arguments, not 1
    random() ~> ! a migration gives the same result in every run; uuid() gives each object an identifier
    """#

  static let collections = #"""
    # sum: | NSExpression, function list; nil members are left out: our choice
    sum({1, 2, 3}) ~> 6
    sum:({1, 2.5}) ~> 3.5
    sum(1, 2, 3) ~> 6
    sum(none) ~> 0
    sum(holes) ~> 4
    sum(nil) ~> 0
    sum({"a"}) ~> ! takes a number, not a text
    # count: | NSExpression, function list; nil is empty: our choice
    count({1, 2, 3}) ~> 3
    count:(tags) ~> 3
    count(none) ~> 0
    count(holes) ~> 3
    count(nil) ~> 0
    count(title) ~> ! a collection
    # min: | NSExpression, function list; nil members are left out, texts, dates: our choice
    min({3, 1, 2}) ~> 1
    min:({"b", "a"}) ~> "a"
    min({1.5, 2}) ~> 1.5
    min(none) ~> nil
    min(holes) ~> 1
    min(nil) ~> nil
    # max: | NSExpression, function list; nil members are left out, texts, dates: our choice
    max({3, 1, 2}) ~> 3
    max:({"b", "a"}) ~> "b"
    max({published, now()}) ~> CAST(1000.0, "NSDate")
    max({1, "a"}) ~> ! cannot be compared
    max(holes) ~> 3
    max(nil) ~> nil
    # average: | NSExpression, function list; nil, none: our choice
    average({1, 2}) ~> 1.5
    average:({2, 4}) ~> 3.0
    average(numbers) ~> 2.0
    average(none) ~> nil
    average(holes) ~> 2.0
    average(nil) ~> nil
    # median: | NSExpression, function list; nil, none: our choice
    median({3, 1, 2}) ~> 2
    median({1, 2, 3, 4}) ~> 2.5
    median:({5}) ~> 5
    median(none) ~> nil
    median(holes) ~> 2.0
    median(nil) ~> nil
    # mode: | NSExpression, function list: an array; ascending, nil: our choice
    mode({1, 2, 2}) ~> {2}
    mode({2, 1, 2, 1}) ~> {1, 2}
    mode:({5}) ~> {5}
    mode(none) ~> {}
    mode(holes) ~> {1, 3}
    mode(nil) ~> {}
    # stddev: | NSExpression, function list; of a population, as nshipster.com/nsexpression computes
    trunc(stddev({1, 2, 3, 4, 4, 5, 9, 11}) * 100000) ~> 321859.0
    stddev({1, 1, 1}) ~> 0.0
    stddev:({2, 4}) ~> 1.0
    stddev(none) ~> nil
    stddev(holes) ~> 1.0
    stddev(nil) ~> nil
    # objectFrom:withIndex: | Predicate Format String Syntax, array operations; nil: our choice
    numbers[0] ~> 3
    numbers[FIRST] ~> 3
    numbers[LAST] ~> 2
    numbers[SIZE] ~> 3
    numbers[7] ~> ! no member 7 of 3
    none[FIRST] ~> nil
    nobody[0] ~> nil
    holes[1] ~> nil
    tags[1].name ~> "b"
    """#

  static let texts = #"""
    # uppercase: | NSExpression, function list; nil: our choice
    uppercase("abc") ~> "ABC"
    uppercase:(title) ~> "ÉMILE"
    uppercase("straße") ~> "STRASSE"
    uppercase(1) ~> ! takes a text, not a number
    uppercase(nil) ~> nil
    uppercase(rating) ~> nil
    # lowercase: | NSExpression, function list; nil: our choice
    lowercase("ABC") ~> "abc"
    lowercase:(title) ~> "émile"
    lowercase("ÀÉ") ~> "àé"
    lowercase("") ~> ""
    lowercase(nil) ~> nil
    lowercase(rating) ~> nil
    # canonical: | NSDerivedAttributeDescription: without case and diacritics; nil: our choice
    canonical("Émile") ~> "emile"
    canonical:(title) ~> "emile"
    canonical("ÅNGSTRÖM") ~> "angstrom"
    canonical("plain") ~> "plain"
    canonical(nil) ~> nil
    canonical(rating) ~> nil
    # length: | NSString: UTF-16 units; nil: our choice
    length("abc") ~> 3
    length:(title) ~> 5
    length("👍") ~> 2
    length("") ~> 0
    length(nil) ~> nil
    length(rating) ~> nil
    # noindex: | NSExpression, function list: yields its argument
    noindex(title) ~> "Émile"
    noindex:(3) ~> 3
    noindex(author) ~> <Rousseau>
    noindex(numbers) ~> {3, 1, 2}
    noindex(nil) ~> nil
    noindex(rating) ~> nil
    # castObject:toType: | NSExpression, CAST; the classes and their texts: our choice
    CAST(pages, "NSString") ~> "300"
    CAST("12", "NSNumber") ~> 12
    CAST(price, "NSDecimalNumber") ~> CAST("9.5", "NSDecimalNumber")
    CAST(pages, "NSDate") ~> CAST(300.0, "NSDate")
    CAST(published, "NSNumber") ~> 100.0
    CAST(published, "NSString") ~> "2001-01-01 00:01:40 +0000"
    CAST(CAST(-0.5, "NSDate"), "NSString") ~> "2000-12-31 23:59:59 +0000"
    CAST(CAST(-13190947200, "NSDate"), "NSString") ~> ! cannot be cast to NSString
    CAST(published, "NSDate") ~> CAST(100.0, "NSDate")
    CAST(published, "NSDecimalNumber") ~> ! the date 2001-01-01 00:01:40 +0000 cannot be cast
    CAST(link, "NSString") ~> "https://x.org/p/q.html"
    CAST(sold, "NSDecimalNumber") ~> CAST("1", "NSDecimalNumber")
    CAST(code, "NSString") ~> ! data of 3 bytes cannot be cast to NSString
    CAST("00010203-0405-0607-0809-0A0B0C0D0E0F", "NSUUID") == number ~> ! the end of the text
    CAST(number, "NSString") ~> "00010203-0405-0607-0809-0A0B0C0D0E0F"
    castObject:toType:("1.50", "NSDecimalNumber") ~> CAST("1.50", "NSDecimalNumber")
    CAST(nil, "NSString") ~> nil
    CAST(rating, "NSDate") ~> nil
    CAST(title, "NSDate") ~> ! the text "Émile" cannot be cast to NSDate
    CAST(title, "Nothing") ~> ! cannot be cast to Nothing
    """#

  static let own = #"""
    # uuid | our choice: RFC 9562, appendix B.2, of the URI of the source object
    uuid() ~> CAST("C5CD6AFC-198C-83AD-8488-112124D5AA4E", "NSUUID")
    CAST(uuid(), "NSString") ~> "C5CD6AFC-198C-83AD-8488-112124D5AA4E"
    ? uuid() == uuid($source) ~> TRUE
    ? uuid() == nil ~> FALSE
    ? nil == uuid() ~> FALSE
    TERNARY(rating == nil, uuid(), number) ~> CAST("C5CD6AFC-198C-83AD-8488-112124D5AA4E", "NSUUID")
    # uuid: | our choice: RFC 9562, appendix B.2, in the name space of URLs
    uuid("a") ~> CAST("2B660BC9-D584-8E27-8DD3-1827CF313AA2", "NSUUID")
    uuid:("") ~> CAST("432EEFC7-F195-8772-83A4-7A101E05F9C7", "NSUUID")
    uuid(title) ~> CAST("B14D1698-774B-80CC-B555-B4AB05FBDE9E", "NSUUID")
    uuid(link) ~> CAST("2216AA46-5DAE-8B25-BE3B-2807634F1EB1", "NSUUID")
    uuid($source) ~> CAST("C5CD6AFC-198C-83AD-8488-112124D5AA4E", "NSUUID")
    uuid($destination) ~> ! has no objectID before it is saved
    uuid(author) ~> ! has no object to apply to
    uuid(5) ~> ! takes an object, a URI or a text, not a number
    uuid(tags) ~> ! takes an object, a URI or a text, not a collection
    uuid("a", "b") ~> ! 1 argument
    uuid(nil) ~> nil
    uuid(nobody) ~> nil
    # date:format: | our choice: the letters of UTS #35, strictly, in UTC
    date("2014-01-16", "yyyy-MM-dd") ~> CAST(411523200.0, "NSDate")
    date:format:("16.1.2014", "d.M.yyyy") ~> CAST(411523200.0, "NSDate")
    date("2014-01-16T13:05:07Z", "yyyy-MM-dd'T'HH:mm:ssXXX") ~> CAST(411570307.0, "NSDate")
    date("2014-01-16T15:05:07+02:00", "yyyy-MM-dd'T'HH:mm:ssXXX") ~> CAST(411570307.0, "NSDate")
    date("2014-01-16 08:05:07.250 -0500", "yyyy-MM-dd HH:mm:ss.SSS Z") ~> CAST(411570307.25, "NSDate")
    date("Jan 16, 2014 at 1:05 PM", "MMM d, yyyy 'at' h:mm a") ~> CAST(411570300.0, "NSDate")
    date("16 January 2014, 12 o'clock am", "d MMMM yyyy, hh 'o''clock' a") ~> CAST(411523200.0, "NSDate")
    date("2000-02-29", "yyyy-MM-dd") ~> CAST(-26524800.0, "NSDate")
    date("0001-01-01", "yyyy-MM-dd") ~> CAST(-63113904000.0, "NSDate")
    date("9999-12-31 23:59:59", "y-MM-dd HH:mm:ss") ~> CAST(252423993599.0, "NSDate")
    date("16.01.2014", "yyyy-MM-dd") ~> ! the text "16.01.2014" is not a date of the form yyyy-MM-dd
    date("", "yyyy-MM-dd") ~> ! the text "" is not a date
    date("2014-1-16", "yyyy-MM-dd") ~> ! is not a date
    date("2014-01-16 ", "yyyy-MM-dd") ~> ! is not a date
    date(" 2014-01-16", "yyyy-MM-dd") ~> ! is not a date
    date("1900-02-29", "yyyy-MM-dd") ~> ! is not a date
    date("2014-13-01", "yyyy-MM-dd") ~> ! is not a date
    date("2014-01-16 24:00", "yyyy-MM-dd HH:mm") ~> ! is not a date
    date("2014-01-16 0:05 AM", "yyyy-MM-dd h:mm a") ~> ! is not a date
    date("٢٠١٤-01-16", "yyyy-MM-dd") ~> ! is not a date
    date("14-01-16", "yy-MM-dd") ~> ! the date format yy-MM-dd cannot be used: yy is not known
    date("2014-01", "yyyy-MM") ~> ! d is missing
    date("2014-01-16 Q1", "yyyy-MM-dd 'Q'Q") ~> ! Q is not known
    date("2014-01-16 5", "yyyy-MM-dd h") ~> ! h and a need each other
    date("2014-01-16 x", "yyyy-MM-dd 'x") ~> ! a quote is not closed
    date(5, "yyyy-MM-dd") ~> ! takes a text, not a number
    date("2014-01-16") ~> ! no function
    date(nil, "yyyy-MM-dd") ~> nil
    date(rating, "yyyy-MM-dd") ~> nil
    # data:encoding: | our choice: RFC 4648 for base64
    data("Émile", "utf8") ~> CAST("c3896d696c65", "NSData")
    data("AQID", "base64") ~> CAST("010203", "NSData")
    data:encoding:("AQI=", "base64") ~> CAST("0102", "NSData")
    data("0aFF", "hex") ~> CAST("0aff", "NSData")
    data("", "hex") ~> CAST("", "NSData")
    data("AQI", "base64") ~> ! the text "AQI" is not base64
    data("A QI=", "base64") ~> ! is not base64
    data("0a0", "hex") ~> ! the text "0a0" is not hex
    data("0g", "hex") ~> ! is not hex
    data("a", "latin1") ~> ! no encoding is called latin1
    data(5, "utf8") ~> ! takes a text, not a number
    data(nil, "hex") ~> nil
    data(rating, "utf8") ~> nil
    """#
}
