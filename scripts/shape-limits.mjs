// Upper limits for patterns that the code should have less of. `limit` is today's count: lower it after a reduction,
// raise it only with a reason. `goal` is the target.
export const LIMITS = {
  rawStatements: {
    limit: 19,
    goal: 19,
    what: 'SQL statements outside *.sql.ts files',
    why:
      'Prisma is how rows are read and written; a statement that must be raw stands in a *.sql.ts file with its reason. ' +
      'What is left belongs to the migrator, the doctor, and the connections themselves.',
  },
  sqlStatements: {
    limit: 30,
    goal: 30,
    what: 'raw statements in *.sql.ts files',
    why: 'Fences, leases, batches and keyset pages are more than Prisma can say; everything else is not.',
  },
  factories: {
    limit: 19,
    goal: 20,
    what: 'useFactory',
    why: 'Classes are wired by their types; a factory is for what is made from settings or from outside.',
  },
  injectedClasses: {
    limit: 1,
    goal: 0,
    what: '@Inject(SomeClass)',
    why: 'The type of the parameter says it already; where it may be null, no type can.',
  },
  longConstructors: {
    limit: 0,
    goal: 0,
    what: 'constructors with more than five parameters',
    why: 'A class that needs more does more than one thing.',
  },
  rawRequests: {
    limit: 21,
    goal: 25,
    what: '@Req and @Res',
    why: 'Requests come in as Nest gives them; the raw request is for bytes that stream.',
  },
  undocumentedExports: {
    limit: 0,
    goal: 0,
    what: 'exported classes, functions and interfaces without a doc comment',
    why: 'One sentence says what the name does not: units, errors, where it comes from.',
  },
  reachedFiles: {
    // Half of them are shared by every process (modules, settings, the contract), the others are each the entry point
    // for one use of a room.
    limit: 212,
    goal: 150,
    what: 'files of rooms that other rooms import',
    why: 'What stands behind a few files of a room can be changed without a look at the others.',
  },
};
