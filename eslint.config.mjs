import { requireTool } from './scripts/build/prepare.mjs';

const js = requireTool('@eslint/js');
const { defineConfig, globalIgnores } = requireTool('eslint/config');
const tseslint = requireTool('typescript-eslint');

const everywhere = [
  {
    selector: 'MemberExpression[property.name=/^[$](query|execute)RawUnsafe$/]',
    message: 'Text in a statement is an injection waiting to happen: use the tagged template, or a named statement.',
  },
  {
    selector: 'MemberExpression[property.name="waitUntilFinished"]',
    message: 'A Redis crash during waitUntilFinished ends the process: wait on the row (wait-for-task).',
  },
  {
    selector: ':matches(NewExpression[callee.name="QueueEvents"], ImportSpecifier[imported.name="QueueEvents"])',
    message: 'Trimmed queue events lose callers: task events are our own PUBLISH (task-events).',
  },
  {
    selector:
      'CallExpression[callee.object.name="AbortSignal"][callee.property.name="any"] CallExpression[callee.property.name="timeout"]',
    message: 'Node 20 loses such a timeout to the garbage collector: join signals with timeLimit (libs/egress).',
  },
  {
    selector: 'Property[key.name="limitInputPixels"][value.value=false]',
    message: 'Without a pixel limit one small file can take all memory.',
  },
  {
    selector: 'Identifier[name="forwardRef"]',
    message: 'Two rooms that need each other are one room, or need a third: untie the knot.',
  },
  {
    selector: 'ClassDeclaration[abstract=true]',
    message: 'No base classes: pass what differs as an argument.',
  },
];

const sleepMessage =
  'A sleep is slow when it is too long and flaky when it is too short: wait for a condition (waitUntil).';
const promisedTimeout = 'NewExpression[callee.name="Promise"]:has(CallExpression[callee.name="setTimeout"])';

const inSupport = [
  ...everywhere,
  // A helper that polls may pause between two looks.
  {
    selector: `${promisedTimeout}:not(:matches(WhileStatement, DoWhileStatement, ForStatement) *)`,
    message: sleepMessage,
  },
];

const inTests = [
  ...everywhere,
  { selector: promisedTimeout, message: sleepMessage },
  { selector: 'ImportDeclaration[source.value=/^(node:)?timers[/]promises$/]', message: sleepMessage },
  {
    selector:
      ':matches(CallExpression > MemberExpression[object.name=/^(it|test|describe)$/][property.name=/^(skip|only|todo)$/], CallExpression[callee.name=/^(xit|xtest|xdescribe|fit|fdescribe)$/])',
    message: 'A test that does not run guards nothing: repair it or remove it.',
  },
];

const environment = [
  {
    selector: 'MemberExpression[object.name="process"][property.name="env"]',
    message: 'Settings are read once, in a main: add a @Setting to the config class of the room.',
  },
  {
    selector:
      'ImportDeclaration[source.value=/^(node:)?process$/] > ImportSpecifier[imported.name="env"], VariableDeclarator[init.name="process"] Property[key.name="env"]',
    message: 'Settings are read once, in a main: add a @Setting to the config class of the room.',
  },
];

const onlyThroughEgress = {
  name: 'fetch',
  message: 'An address that came from outside is opened by libs/egress alone; a vendor is called by its adapter.',
};

export default defineConfig(
  // Calls of generated clients are checked with what was generated, when that is there: test/clients/node/generated.
  globalIgnores([
    ...['**/dist/', 'coverage/', '.data/', '**/generated/'],
    ...['!test/clients/node/generated/', 'test/clients/node/generated/**/*.ts'],
  ]),
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  {
    rules: {
      'no-restricted-syntax': ['error', ...everywhere],
      'no-warning-comments': ['error', { terms: ['todo', 'fixme', 'xxx'], location: 'anywhere' }],
      eqeqeq: 'error',
    },
  },
  {
    files: ['**/*.{mjs,js}'],
    languageOptions: {
      globals: Object.fromEntries(
        ['process', 'console', 'fetch', 'URL', 'URLSearchParams', 'Buffer', 'AbortController', 'AbortSignal']
          .concat(['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'queueMicrotask'])
          .concat([
            'performance',
            'structuredClone',
            'TextEncoder',
            'TextDecoder',
            'FormData',
            'Blob',
            'Response',
            'Headers',
            'ReadableStream',
          ])
          .map((name) => [name, 'readonly']),
      ),
    },
  },
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      // Leaves files with decorators alone, where Nest needs the class itself to inject it.
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
      '@typescript-eslint/no-floating-promises': ['error', { ignoreVoid: true }],
      '@typescript-eslint/no-unnecessary-condition': ['error', { allowConstantLoopConditions: true }],
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      // An async method without await keeps an interface's promise: what it throws is a rejection.
      '@typescript-eslint/require-await': 'off',
      // Numbers and booleans print as one expects; objects are still refused.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // Callbacks of events and signals may be async where they handle their own errors.
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
    },
  },
  {
    files: ['apps/{api,worker}/**/*.ts', 'libs/**/*.ts'],
    ignores: ['**/*.spec.ts'],
    rules: {
      'no-console': 'error',
      'no-restricted-syntax': ['error', ...everywhere, ...environment],
      'no-restricted-globals': ['error', onlyThroughEgress],
    },
  },
  {
    files: ['apps/standalone/**/*.ts'],
    ignores: ['**/*.spec.ts'],
    rules: { 'no-restricted-syntax': ['error', ...everywhere, ...environment] },
  },
  {
    files: ['libs/{egress,providers,storage,embedded}/**/*.ts', 'apps/api/src/chat/**/*.ts'],
    rules: { 'no-restricted-globals': 'off' },
  },
  {
    // Handlers of events start work whose errors are shown by the query or mutation that does it.
    files: ['apps/dashboard/**/*.{ts,tsx}'],
    rules: { '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: false }] },
  },
  {
    // The programs' first files, where the environment is handed to loadConfig; and the room that hands PATH to children.
    files: ['libs/{config,embedded}/**/*.ts', 'apps/*/src/{main,openapi}.ts'],
    rules: { 'no-restricted-syntax': ['error', ...everywhere] },
  },
  {
    files: ['**/*.spec.ts', 'test/**/*.{ts,mjs}'],
    rules: { 'no-restricted-syntax': ['error', ...inTests] },
  },
  {
    files: ['test/support/**'],
    rules: { 'no-restricted-syntax': ['error', ...inSupport] },
  },
  {
    files: ['**/*.spec.ts', 'test/**/*.ts'],
    rules: {
      // jest's own matchers take methods and answer any.
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      // A test says what it knows: a missing value fails it, which is what it is for.
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
);
