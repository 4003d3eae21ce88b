export default {
  darkroom: {
    input: '../../../../openapi.json',
    output: {
      target: 'dist/src/orval.ts',
      client: 'fetch',
      baseUrl: { runtime: 'address.url', imports: [{ name: 'address', importPath: '../../calls/address.js' }] },
      override: {
        // A function for each form of an edit; without it, there is one that can send neither.
        splitByContentType: true,
      },
    },
  },
};
