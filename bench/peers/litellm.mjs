import { execFile } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PEERS } from './folder.mjs';

const LOCK = join(import.meta.dirname, 'requirements.txt');
const FOLDER = join(PEERS, 'litellm');
const PROGRAM = join(FOLDER, 'bin', 'litellm');
const STAMP = join(FOLDER, 'installed.txt');
const KEY = 'sk-bench';
const STEP_TIMEOUT_MS = 1_800_000;
const START_TIMEOUT_MS = 300_000;
const execute = promisify(execFile);

/**
 * LiteLLM's proxy (PyPI), configured as its production page says: a worker per core, only errors in the log, no debug.
 */
export const litellm = {
  name: 'LiteLLM',
  version: /^litellm==(\S+)/m.exec(readFileSync(LOCK, 'utf8'))?.[1],
  lacks: {},

  async install(tell) {
    const wanted = readFileSync(LOCK, 'utf8');
    if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === wanted) return;
    tell('Installing LiteLLM (pip, some 700 MB) ...');
    rmSync(FOLDER, { recursive: true, force: true });
    const options = { timeout: STEP_TIMEOUT_MS };
    await execute('python3', ['-m', 'venv', FOLDER], options);
    const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--only-binary', ':all:'];
    await execute(
      join(FOLDER, 'bin', 'python'),
      [...install, '--require-hashes', '--no-deps', '--requirement', LOCK],
      options,
    );
    writeFileSync(STAMP, wanted);
  },

  async start(stage, upstream) {
    if (!existsSync(STAMP)) throw new Error('not installed');
    const config = join(stage.folder, 'litellm.yaml');
    await writeFile(config, configOf(upstream));
    const started = await stage.startPeer('litellm', (port) => ({
      command: PROGRAM,
      args: [
        ...['--config', config, '--host', '127.0.0.1', '--port', `${port}`],
        ...['--num_workers', `${availableParallelism()}`],
        // With the default of 5 s, a worker that starts slowly, as on a busy machine, would be restarted forever.
        ...['--timeout_worker_healthcheck', '120'],
      ],
      settings: {
        HOME: stage.folder,
        LITELLM_MODE: 'PRODUCTION',
        LITELLM_LOG: 'ERROR',
        // Its bundled price list instead of one from the internet.
        LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      },
      readyPath: '/health/readiness',
      readyMs: START_TIMEOUT_MS,
    }));
    return { ...started, key: KEY };
  },
};

function configOf(upstream) {
  const models = ['gpt-image-2', 'dall-e-3', 'gpt-5.5'].map(
    (name) => `  - model_name: ${name}
    litellm_params: { model: openai/${name}, api_base: "${upstream}/v1", api_key: none }
`,
  );
  return `model_list:
${models.join('')}litellm_settings: { request_timeout: 600, set_verbose: false }
general_settings: { master_key: ${KEY} }
`;
}
