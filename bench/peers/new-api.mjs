import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { PEERS } from './folder.mjs';

const PROGRAM = join(PEERS, 'new-api', 'new-api');
const PASSWORD = randomBytes(8).toString('hex');
const ROOT_USER = { username: 'root', password: PASSWORD };
/** In its own unit: 500,000 are one dollar. */
const QUOTA = 1e12;

/**
 * new-api (Go, SQLite) with the settings its README recommends: release mode, channels cached in memory, batched
 * counters. Its limit of 180 calls per three minutes from one address is off, because all callers share one.
 */
export const newApi = {
  name: 'new-api',
  get version() {
    return existsSync(PROGRAM)
      ? execFileSync(PROGRAM, ['--version'], { encoding: 'utf8' }).trim().split('\n').at(-1)
      : '';
  },
  lacks: { edit: 'answers `not implemented`' },

  async install(tell) {
    if (!existsSync(PROGRAM)) tell(`new-api is left out: put the program of one of its releases at ${PROGRAM}.`);
  },

  async start(stage, upstream) {
    if (!existsSync(PROGRAM)) throw new Error('not installed');
    const folder = join(stage.folder, 'new-api');
    mkdirSync(folder);
    const orderFor = (port) => ({
      command: PROGRAM,
      args: ['--log-dir', folder],
      settings: {
        GIN_MODE: 'release',
        PORT: String(port),
        SQLITE_PATH: `${join(folder, 'new-api.db')}?_busy_timeout=5000`,
        SESSION_SECRET: randomBytes(16).toString('hex'),
        MEMORY_CACHE_ENABLED: 'true',
        BATCH_UPDATE_ENABLED: 'true',
        GLOBAL_API_RATE_LIMIT_ENABLE: 'false',
        GLOBAL_WEB_RATE_LIMIT_ENABLE: 'false',
        ...encodings(),
      },
      readyPath: '/api/status',
    });
    const first = await stage.startPeer('new-api', orderFor);
    const key = await configure(`http://127.0.0.1:${first.port}`, upstream);
    // It loads a new channel at its start, or up to a minute later.
    await stage.stop(first);
    return { ...(await stage.startPeer('new-api', orderFor)), key: `sk-${key}` };
  },
};

/**
 * It downloads the encodings for counting tokens, unless they exist locally: LiteLLM's package has them under the
 * expected names.
 */
function encodings() {
  const libraries = join(PEERS, 'litellm', 'lib');
  const [python] = existsSync(libraries) ? readdirSync(libraries) : [];
  if (python === undefined) return {};
  return {
    TIKTOKEN_CACHE_DIR: join(libraries, python, 'site-packages', 'litellm', 'litellm_core_utils', 'tokenizers'),
  };
}

/**
 * Sets up its first user with enough quota for a run, the provider as its only channel, and a caller's key; returns
 * that key.
 */
async function configure(address, upstream) {
  await call(`${address}/api/setup`, { ...ROOT_USER, confirmPassword: PASSWORD, SelfUseModeEnabled: true });
  const { cookie } = await call(`${address}/api/user/login`, ROOT_USER);
  const headers = { cookie, 'new-api-user': '1' };
  await call(`${address}/api/user/`, { id: 1, ...ROOT_USER, group: 'default', quota: QUOTA }, headers, 'PUT');
  const models = 'gpt-image-2,dall-e-3,gpt-5.5';
  const channel = { type: 1, key: 'none', name: 'bench', base_url: upstream, models, group: 'default' };
  await call(`${address}/api/channel/`, channel, headers);
  await call(`${address}/api/token/`, { name: 'bench', unlimited_quota: true, expired_time: -1 }, headers);
  const { data } = await call(`${address}/api/token/?p=0&size=1`, undefined, headers);
  return data[0].key;
}

async function call(url, body, headers = {}, method = body === undefined ? 'GET' : 'POST') {
  const answer = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(30_000),
  });
  const { success, message, data } = await answer.json();
  if (!success) throw new Error(`${new URL(url).pathname}: ${message}`);
  return { data, cookie: answer.headers.getSetCookie().join('; ') };
}
