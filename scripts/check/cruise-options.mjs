/**
 * Files that assemble parts from the folders below and next to them. They stand above their folder, whose parts may
 * import from it.
 */
export const ASSEMBLERS = [
  '\\.module\\.ts$',
  '^apps/[^/]+/src/(main|create-api|openapi)\\.tsx?$',
  // The routes of all pages.
  '^apps/dashboard/src/app/router\\.tsx$',
  // The list of adapters, all of which implement types from the same folder.
  '^libs/providers/descriptors\\.ts$',
];

/** How dependency-cruiser reads our imports: all of them, types too, and #room/file.js as the source. */
export const options = {
  tsPreCompilationDeps: true,
  doNotFollow: { path: ['^node_modules/', '/generated/'] },
  exclude: { path: ['\\.spec\\.tsx?$'] },
  enhancedResolveOptions: {
    conditionNames: ['darkroom-source', 'node', 'import', 'require', 'default', 'types'],
    exportsFields: ['exports'],
  },
};
