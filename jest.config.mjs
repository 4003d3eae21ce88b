// One project per size: unit tests run alone, medium ones own a database, end-to-end ones own processes; property
// tests own processes too and send them thousands of requests, client tests run published clients against them.
const shared = {
  testEnvironment: '<rootDir>/test/support/lasting-environment.mjs',
  runtime: '<rootDir>/test/support/packages-once.mjs',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '<rootDir>/tools/node_modules/@swc/jest',
      {
        swcrc: false,
        sourceMaps: 'inline',
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          keepClassNames: true,
        },
        module: { type: 'es6' },
      },
    ],
  },
  moduleNameMapper: {
    // A test's own waits take the speed of the machine into account; the product's, by relative path, do not.
    '^#embedded/wait-until\\.js$': '<rootDir>/test/support/wait-until.ts',
    '^#(.*)\\.js$': '<rootDir>/libs/$1.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  // Beside the product's packages, those of the tests.
  modulePaths: ['<rootDir>/tools/node_modules'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.data/', '<rootDir>/test/clients/node/'],
  setupFiles: ['reflect-metadata'],
  setupFilesAfterEnv: ['<rootDir>/test/support/patience.ts', '<rootDir>/test/support/property-seed.ts'],
};

export default {
  projects: [
    { ...shared, displayName: 'unit', testMatch: ['<rootDir>/{apps,libs,scripts}/**/*.spec.ts'] },
    { ...shared, displayName: 'medium', testMatch: ['<rootDir>/test/medium/**/*.spec.ts'] },
    { ...shared, displayName: 'e2e', testMatch: ['<rootDir>/test/e2e/**/*.spec.ts'] },
    { ...shared, displayName: 'browser', testMatch: ['<rootDir>/test/browser/**/*.spec.ts'] },
    { ...shared, displayName: 'balancer', testMatch: ['<rootDir>/test/balancer/**/*.spec.ts'] },
    { ...shared, displayName: 'property', testMatch: ['<rootDir>/test/property/**/*.spec.ts'] },
    { ...shared, displayName: 'clients', testMatch: ['<rootDir>/test/clients/*.spec.ts'] },
    { ...shared, displayName: 'faults', testMatch: ['<rootDir>/test/faults/*.spec.ts'] },
    { ...shared, displayName: 'long-faults', testMatch: ['<rootDir>/test/faults/long/*.spec.ts'] },
  ],
};
