// Patterns that the code should have less of. A number is advice that `npm run check` prints, because judgment decides
// what a number cannot; only what no judgment is needed for is a `gate`.
export const LIMITS = {
  rawStatements: {
    goal: 19,
    what: 'SQL statements outside *.sql.ts files',
    why:
      'Prisma is how rows are read and written; a statement that must be raw stands in a *.sql.ts file with its reason. ' +
      'What is left belongs to the migrator, the doctor, and the connections themselves.',
  },
  sqlStatements: {
    goal: 30,
    what: 'raw statements in *.sql.ts files',
    why: 'Fences, leases, batches and keyset pages are more than Prisma can say; everything else is not.',
  },
  factories: {
    goal: 20,
    what: 'useFactory',
    why: 'Classes are wired by their types; a factory is for what is made from settings or from outside.',
  },
  injectedClasses: {
    goal: 0,
    what: '@Inject(SomeClass)',
    why: 'The type of the parameter says it already; where it may be null, no type can.',
  },
  longFiles: {
    goal: 0,
    what: 'files over 600 lines',
    why: 'A file tells one thing; whether one is too long is a matter of judgment.',
  },
  longFunctions: {
    goal: 0,
    what: 'functions over 60 lines',
    why: 'Its steps have names.',
  },
  manyParameters: {
    goal: 0,
    what: 'functions and constructors with more than seven parameters',
    why: 'What needs more does more than one thing.',
  },
  rawRequests: {
    goal: 25,
    what: '@Req and @Res',
    why: 'Requests come in as Nest gives them; the raw request is for bytes that stream.',
  },
  undocumentedExports: {
    gate: true,
    goal: 0,
    what: 'exported classes, functions and interfaces without a doc comment',
    why: 'One sentence says what the name does not: units, errors, where it comes from.',
  },
  forwarders: {
    gate: true,
    goal: 10,
    what: 'methods and functions that only pass their parameters on',
    why: 'Their callers can call what they call. This number may only be lowered.',
  },
  reachedFiles: {
    goal: 150,
    what: 'files of rooms that other rooms import',
    why: 'What stands behind a few files of a room can be changed without a look at the others.',
  },
};
