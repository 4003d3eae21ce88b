import { join } from 'node:path';
import { defaultClientConditions, defineConfig } from 'vite';

const folder = import.meta.dirname;

// Vite compiles JSX itself, so a build needs no plugin.
export default defineConfig(({ command }) => ({
  root: folder,
  // The path is known to the server only: it completes the page's links, and scripts and styles are relative to theirs.
  base: command === 'build' ? './' : '/console/',
  oxc: { jsx: { runtime: 'automatic' } },
  server: { proxy: { '/console/api': 'http://127.0.0.1:8080', '/files': 'http://127.0.0.1:8080' } },
  // Uses the TypeScript sources of libs/contract.
  resolve: { conditions: ['darkroom-source', ...defaultClientConditions] },
  build: {
    outDir: join(folder, '..', '..', 'dist', 'dashboard'),
    emptyOutDir: true,
    target: 'es2023',
    // The Content-Security-Policy does not allow inlined files.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 900,
    // "use client" matters only for server rendering, which we don't use.
    rolldownOptions: {
      onLog: (level, log, handle) => {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log);
      },
    },
  },
}));
