import { join } from 'node:path';
import { ensureInstalled, ROOT } from '../../scripts/build/prepare.mjs';
import lock from './package.json' with { type: 'json' };

/** Portkey's gateway (npm): one Node process, its only mode. It stores no keys, so callers send the provider's. */
export const portkey = {
  name: 'Portkey',
  version: lock.dependencies['@portkey-ai/gateway'],
  lacks: {},

  async install(tell) {
    await ensureInstalled(tell, 'bench/peers');
  },

  async start(stage, upstream) {
    const program = join(ROOT, 'bench/peers/node_modules/@portkey-ai/gateway/build/start-server.js');
    const started = await stage.startPeer('portkey', (port) => ({
      command: process.execPath,
      args: [program, `--port=${port}`, '--headless'],
      settings: { NODE_ENV: 'production' },
      readyPath: '/',
    }));
    const headers = { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `${upstream}/v1` };
    return { ...started, headers, key: 'none' };
  },
};
