import { join } from 'node:path';
import { defaultClientConditions, defineConfig } from 'vite';

const folder = import.meta.dirname;

// The compiler of Vite itself translates JSX: no plugin is needed for a build.
export default defineConfig({
  root: folder,
  base: '/console/',
  oxc: { jsx: { runtime: 'automatic' } },
  server: { proxy: { '/console/api': 'http://127.0.0.1:8080', '/files': 'http://127.0.0.1:8080' } },
  // Files of libs/contract are read as they are written.
  resolve: { conditions: ['darkroom-source', ...defaultClientConditions] },
  build: {
    outDir: join(folder, '..', '..', 'dist', 'dashboard'),
    emptyOutDir: true,
    target: 'es2023',
    // The Content-Security-Policy has no place for inlined files.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 900,
    // "use client" speaks to server rendering, which there is none of.
    rolldownOptions: {
      onLog: (level, log, handle) => {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log);
      },
    },
  },
});
