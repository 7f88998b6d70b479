/// Tables of literals, key paths, forms such as SUBQUERY, and selectors.
enum LanguageTables {
  static let literals = #"""
    # numbers | Predicate Format String Syntax, literals
    12 ~> 12
    -12 ~> -12
    1.5 ~> 1.5
    1e3 ~> 1000.0
    0x1F ~> 31
    -9223372036854775808 ~> -9223372036854775808
    0o17 + nil ~> nil
    {0b11, nil} ~> {3, nil}
    1.2.3 ~> ! not a number
    # texts | Predicate Format String Syntax, literals and escapes
    "a" ~> "a"
    'a' ~> "a"
    "q\"uote" ~> "q\"uote"
    "tab\there" == nil ~> ! the end of the text
    "\u0041" ~> "A"
    "\ud83d\ude00\u00e9" ~> "😀é"
    "\ud83d" ~> ! \ud83d is not a character
    "\ud83d\u0041" ~> ! \ud83d is not a character
    "\ude00\ud83d" ~> ! \ude00 is not a character
    "a\u12" ~> ! \u12 is not a character
    "\u+041" ~> ! \u is not a character
    {"a", nil} ~> {"a", nil}
    "" ~> ""
    "open ~> ! does not end
    TERNARY("" == nil, 1, 2) ~> 2
    # Booleans and nil | Predicate Format String Syntax, literals
    TRUE ~> TRUE
    yes ~> TRUE
    FALSE ~> FALSE
    NO ~> FALSE
    nil ~> nil
    NULL ~> nil
    ? TRUEPREDICATE ~> TRUE
    ? FALSEPREDICATE ~> FALSE
    # aggregates | Predicate Format String Syntax, literals
    {1, 2} ~> {1, 2}
    {} ~> {}
    {1, {2, 3}} ~> {1, {2, 3}}
    {pages, title} ~> {300, "Émile"}
    {nil} ~> {nil}
    {1, rating} ~> {1, nil}
    {1, ~> ! an expression
    # dates, data, URIs, UUIDs | CAST of dates as NSPredicate prints it; the others: our choice
    CAST(10, "NSDate") ~> CAST(10.0, "NSDate")
    CAST("0aff", "NSData") ~> CAST("0aff", "NSData")
    CAST("https://x.org", "NSURL") ~> CAST("https://x.org", "NSURL")
    CAST("-1.50", "NSDecimalNumber") ~> CAST("-1.50", "NSDecimalNumber")
    CAST("00010203-0405-0607-0809-0a0b0c0d0e0f", "NSUUID") ~> CAST("00010203-0405-0607-0809-0A0B0C0D0E0F", "NSUUID")
    CAST(nil, "NSDate") ~> nil
    CAST(NULL, "NSData") ~> nil
    CAST("x", "NSUUID") ~> ! cannot be cast
    %@ ~> ! placeholder
    """#

  static let paths = #"""
    # key paths | Key-Value Coding Programming Guide; nil ends in nil
    title ~> "Émile"
    SELF.title ~> "Émile"
    $source.author.name ~> "Rousseau"
    author.born + 1 ~> 1713
    #in ~> "keyword"
    tags.name ~> {"a", "b", "c"}
    labels.weight ~> set {1, 2}
    tags.weight ~> {1, 2, nil}
    nobody.name ~> nil
    author.editor.name.length ~> nil
    nothing ~> ! Book has no property nothing
    # variables | NSEntityMigrationPolicy, keys of value expressions
    $source ~> <book>
    $n ~> 5
    $n + 1 ~> 6
    $source.pages ~> 300
    $destination ~> <Tome>
    $empty ~> nil
    $empty.name ~> nil
    $nothing ~> ! no variable is called $nothing
    # SELF | Predicate Format String Syntax, literals
    SELF ~> <book>
    SELF.author ~> <Rousseau>
    self.pages ~> 300
    SUBQUERY(numbers, $x, $x == SELF.pages) ~> {}
    SELF.rating ~> nil
    SELF.nobody.name ~> nil
    # @count | Key-Value Coding Programming Guide, collection operators; nil: our choice
    tags.@count ~> 3
    none.@count ~> 0
    holes.@count ~> 3
    tags.@count + 1 ~> 4
    nobody.@count ~> nil
    title.@count ~> ! a collection
    # @sum | Key-Value Coding Programming Guide: nil is 0; whole sums: our choice
    numbers.@sum.self ~> 6
    tags.@sum.weight ~> 3
    none.@sum.self ~> 0
    holes.@sum.self ~> 4
    nobody.@sum.self ~> nil
    tags.@sum.name ~> ! takes a number
    # @avg | Key-Value Coding Programming Guide: nil is 0; of none nil: our choice
    numbers.@avg.self ~> 2.0
    tags.@avg.weight ~> 1.0
    none.@avg.self ~> nil
    holes.@avg.self * 3 ~> 4.0
    nobody.@avg.self ~> nil
    tags.@avg.name ~> ! takes a number
    # @min | Key-Value Coding Programming Guide: nil is left out
    numbers.@min.self ~> 1
    tags.@min.name ~> "a"
    tags.@min.weight ~> 1
    none.@min.self ~> nil
    holes.@min.self ~> 1
    nobody.@min.self ~> nil
    # @max | Key-Value Coding Programming Guide: nil is left out
    numbers.@max.self ~> 3
    tags.@max.name ~> "c"
    tags.@max.weight ~> 2
    none.@max.self ~> nil
    holes.@max.self ~> 3
    nobody.@max.self ~> nil
    # @unionOfObjects | Key-Value Coding Programming Guide: a nil raises
    twice.@unionOfObjects.self ~> {1, 1, 2}
    tags.@unionOfObjects.name ~> {"a", "b", "c"}
    none.@unionOfObjects.self ~> {}
    tags.@unionOfObjects.weight ~> ! does not accept nil
    holes.@unionOfObjects.self ~> ! does not accept nil
    nobody.@unionOfObjects.self ~> nil
    # @distinctUnionOfObjects | Key-Value Coding Programming Guide: a nil raises; order: our choice
    twice.@distinctUnionOfObjects.self ~> ordered {1, 2}
    tags.@distinctUnionOfObjects.name ~> ordered {"a", "b", "c"}
    none.@distinctUnionOfObjects.self ~> ordered {}
    tags.@distinctUnionOfObjects.weight ~> ! does not accept nil
    holes.@distinctUnionOfObjects.self ~> ! does not accept nil
    nobody.@distinctUnionOfObjects.self ~> nil
    # @unionOfArrays | Key-Value Coding Programming Guide, nesting operators
    tags.@unionOfArrays.list ~> {"x", "y", "y", "x", "x"}
    none.@unionOfArrays.self ~> {}
    {{1}, {1, 2}}.@unionOfArrays.self ~> {1, 1, 2}
    nobody.@unionOfArrays.self ~> nil
    holes.@unionOfArrays.self ~> ! does not accept nil
    tags.@unionOfArrays.name ~> ! a collection
    # @distinctUnionOfArrays | Key-Value Coding Programming Guide, nesting operators
    tags.@distinctUnionOfArrays.list ~> ordered {"x", "y"}
    none.@distinctUnionOfArrays.self ~> ordered {}
    {{1}, {1, 2}}.@distinctUnionOfArrays.self ~> ordered {1, 2}
    nobody.@distinctUnionOfArrays.self ~> nil
    holes.@distinctUnionOfArrays.self ~> ! does not accept nil
    tags.@distinctUnionOfArrays.name ~> ! a collection
    # @distinctUnionOfSets | Key-Value Coding Programming Guide, nesting operators
    labels.@distinctUnionOfSets.notes ~> set {"x", "y"}
    tags.@distinctUnionOfSets.notes ~> set {"x", "y"}
    none.@distinctUnionOfSets.self ~> set {}
    nobody.@distinctUnionOfSets.self ~> nil
    holes.@distinctUnionOfSets.self ~> ! does not accept nil
    labels.@distinctUnionOfSets.name ~> ! a collection
    # @unionOfSets | our choice: as @distinctUnionOfSets
    labels.@unionOfSets.notes ~> set {"x", "y"}
    tags.@unionOfSets.notes ~> set {"x", "y"}
    none.@unionOfSets.self ~> set {}
    nobody.@unionOfSets.self ~> nil
    holes.@unionOfSets.self ~> ! does not accept nil
    numbers.@median.self ~> ! no collection operator is called @median
    """#

  static let forms = #"""
    # SUBQUERY | NSExpression, expressionForSubquery; nil: our choice
    SUBQUERY(numbers, $x, $x > 1) ~> {3, 2}
    SUBQUERY(tags, $x, $x.weight == 2).name ~> {"b"}
    SUBQUERY(tags, $x, $x.weight != nil).@count ~> 2
    SUBQUERY(numbers, $x, $x > SUBQUERY(numbers, $y, $y > 2).@count) ~> {3, 2}
    SUBQUERY(nobody, $x, $x > 1) ~> nil
    SUBQUERY(holes, $x, $x == nil) ~> {nil}
    SUBQUERY(title, $x, $x == 1) ~> ! a collection
    SUBQUERY(tags, x, x == 1) ~> ! a variable
    # TERNARY | NSExpression, expressionForConditional
    TERNARY(pages > 1, "long", "short") ~> "long"
    TERNARY(pages > 1000, "long", "short") ~> "short"
    TERNARY(TRUEPREDICATE, 1, nothing) ~> 1
    TERNARY(rating == nil, 0, rating) ~> 0
    TERNARY(pages != nil, nil, 1) ~> nil
    TERNARY(pages > 1, 2) ~> ! “)” where “,” is expected
    # CAST | NSExpression, CAST
    CAST(price, "NSString") ~> "9.5"
    CAST(sold, "NSString") ~> "1"
    CAST("x1", "NSNumber") ~> ! cannot be cast
    CAST(price + 0.5, "NSString") ~> "10"
    CAST(nil, "NSNumber") ~> nil
    CAST(rating, "NSString") ~> nil
    CAST(1) ~> ! “,”
    # FETCH | NSFetchRequestExpression; the request's selector as Xcode compiles it
    FETCH(FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "Tag", "weight > 1"), $manager.sourceContext, NO) ~> {<b>}
    FETCH(FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "Tag", "TRUEPREDICATE"), $manager.sourceContext, YES) ~> 3
    FETCH(FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "Tag", "weight == nil"), $manager.sourceContext, NO).name ~> {"c"}
    FETCH(FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "Tag", nil), $manager.sourceContext, YES) ~> 3
    FETCH(FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "Tag", "weight >"), $manager.sourceContext, YES) ~> ! column 9
    FETCH(nil, $manager.sourceContext, NO) ~> ! a fetch request
    FETCH(nobody, $manager.sourceContext, 3) ~> ! YES or NO
    """#

  static let selectors = #"""
    # fetchRequestForSourceEntityNamed:predicateString: | undocumented; in every mapping of Xcode
    FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "Tag", "TRUEPREDICATE") ~> <a fetch request>
    FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "Tag", "weight > 1").entityName ~> "Tag"
    FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "Tag", nil).entityName ~> "Tag"
    FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", nil, "TRUEPREDICATE") ~> ! takes a text
    FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "Tag", "(") ~> ! column 2
    FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "Tag") ~> ! takes 2 arguments, not 1
    # destinationInstancesForEntityMappingNamed:sourceInstances: | NSMigrationManager; one object or nil, as Xcode passes
    FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "BookToTome", $source) ~> {<tome>}
    FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "TagToLabel", $source.tags) ~> {<label a>, <label b>, <label c>}
    FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "TagToLabel", {$source}) ~> {}
    FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "BookToTome", nil) ~> {}
    FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "BookToTome", $source.nobody) ~> {}
    FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "Nothing", $source) ~> ! no entity mapping is called Nothing
    FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "BookToTome", 3) ~> ! takes objects, not a number
    # sourceInstancesForEntityMappingNamed:destinationInstances: | NSMigrationManager
    FUNCTION($manager, "sourceInstancesForEntityMappingNamed:destinationInstances:", "BookToTome", FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "BookToTome", $source)) ~> {<book>}
    FUNCTION($manager, "sourceInstancesForEntityMappingNamed:destinationInstances:", "BookToTome", $source) ~> {}
    FUNCTION($manager, "sourceInstancesForEntityMappingNamed:destinationInstances:", "BookToTome", {}) ~> {}
    FUNCTION($manager, "sourceInstancesForEntityMappingNamed:destinationInstances:", "BookToTome", nil) ~> {}
    FUNCTION($manager, "sourceInstancesForEntityMappingNamed:destinationInstances:", "BookToTome", nobody) ~> {}
    FUNCTION($manager, "sourceInstancesForEntityMappingNamed:destinationInstances:", 1, nil) ~> ! takes a text
    # destinationInstancesForSourceRelationshipNamed:sourceInstances: | undocumented; looks in all mappings
    FUNCTION($manager, "destinationInstancesForSourceRelationshipNamed:sourceInstances:", "tags", $source.tags) ~> {<label a>, <label b>, <label c>}
    FUNCTION($manager, "destinationInstancesForSourceRelationshipNamed:sourceInstances:", "book", $source) ~> {<tome>}
    FUNCTION($manager, "destinationInstancesForSourceRelationshipNamed:sourceInstances:", "tags", {$source, $source.tags}) ~> {<tome>, <label a>, <label b>, <label c>}
    FUNCTION($manager, "destinationInstancesForSourceRelationshipNamed:sourceInstances:", "author", $source.author) ~> {}
    FUNCTION($manager, "destinationInstancesForSourceRelationshipNamed:sourceInstances:", "tags", nil) ~> {}
    FUNCTION($manager, "destinationInstancesForSourceRelationshipNamed:sourceInstances:", "tags", $source.nobody) ~> {}
    FUNCTION($manager, "sourceContext") ~> <a context>
    FUNCTION($manager, "migrationProgress2") ~> ! the migration manager has no method migrationProgress2
    FUNCTION($manager, "unknown:", 1) ~> ! the migration manager has no method unknown:
    # $entityPolicy | Core Data Model Versioning and Data Migration Programming Guide, custom functions
    FUNCTION($entityPolicy, "shout:", $source.title) ~> "Émile"
    FUNCTION($entityPolicy, "constant") ~> 42
    FUNCTION($entityPolicy, "first:second:", $source.rating, 2) ~> 2
    FUNCTION($entityPolicy, "shout:", nil) ~> "silence"
    FUNCTION($entityPolicy, "first:second:", nil, nil) ~> nil
    FUNCTION($entityPolicy, "whisper:", 1) ~> ! the policy has no method whisper:
    # messages to values | Foundation's methods of that name; nil answers nil
    FUNCTION("abc", "uppercaseString") ~> "ABC"
    FUNCTION("a-b", "stringByReplacingOccurrencesOfString:withString:", "-", "+") ~> "a+b"
    FUNCTION("a,b", "componentsSeparatedByString:", ",") ~> {"a", "b"}
    FUNCTION(path, "lastPathComponent") ~> "b.txt"
    FUNCTION(pages, "stringValue") ~> "300"
    FUNCTION(published, "dateByAddingTimeInterval:", 5) ~> CAST(105.0, "NSDate")
    FUNCTION(code, "length") ~> 3
    FUNCTION(" 12x", "integerValue") ~> 12
    link.lastPathComponent ~> "q.html"
    published.description ~> "2001-01-01 00:01:40 +0000"
    FUNCTION(price, "description") ~> "9.5"
    FUNCTION(link, "absoluteString") ~> "https://x.org/p/q.html"
    FUNCTION(nil, "uppercaseString") ~> nil
    FUNCTION(rating, "stringValue") ~> nil
    FUNCTION("a", "nothing") ~> ! a text has no method nothing
    # messages to collections | Foundation's methods of that name; nil answers nil
    FUNCTION(numbers, "count") ~> 3
    FUNCTION(numbers, "firstObject") ~> 3
    FUNCTION(none, "lastObject") ~> nil
    FUNCTION(twice, "set") ~> set {1, 2}
    FUNCTION(numbers, "containsObject:", 2) ~> TRUE
    FUNCTION(numbers, "componentsJoinedByString:", "/") ~> "3/1/2"
    FUNCTION(tags, "valueForKeyPath:", "name") ~> {"a", "b", "c"}
    FUNCTION(nobody, "count") ~> nil
    FUNCTION(holes, "containsObject:", nil) ~> TRUE
    """#
}
