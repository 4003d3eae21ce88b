// No folders need each other. Files that assemble folders are left out: imports.config.mjs knows who may import them.
// usage: tools/node_modules/.bin/depcruise --config scripts/check/folders.config.mjs --output-type err-long apps libs
import { ASSEMBLERS, options } from './cruise-options.mjs';

export default {
  forbidden: [
    {
      name: 'cycle-of-folders',
      comment: 'Folders that need each other are one folder, or need a third.',
      severity: 'error',
      scope: 'folder',
      from: {},
      to: { circular: true },
    },
  ],
  options: { ...options, exclude: { path: [...options.exclude.path, ...ASSEMBLERS, '^node_modules/'] } },
};
