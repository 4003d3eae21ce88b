import Ajv from 'ajv';
import 'reflect-metadata';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parse } from 'yaml';
import { ROOT } from '../../build/prepare.mjs';

/** For Node, the dynamic linker and the platform; our code does not read them. */
const FOREIGN = ['NODE_ENV', 'LD_PRELOAD', 'NODE_EXTRA_CA_CERTS', 'NODE_OPTIONS'];

/** The settings, paths and metrics of the code, to check the chart against. Needs the build. */
export async function chartFacts() {
  const [{ API_CONFIGS }, { WORKER_CONFIGS }, { StandaloneConfig }] = await Promise.all([
    built('apps/api/src/api-configs.js'),
    built('apps/worker/src/worker-configs.js'),
    built('apps/standalone/src/platform/standalone.config.js'),
  ]);
  const [{ OpenAiConfig }, { ChatConfig }, { StorageConfig }] = await Promise.all([
    built('libs/providers/openai/openai.config.js'),
    built('apps/api/src/chat/chat.config.js'),
    built('libs/storage/storage.config.js'),
  ]);
  const [{ loadConfig }, { settingsOf }, { DatabaseConfig }] = await Promise.all([
    built('libs/config/load-config.js'),
    built('libs/config/setting.js'),
    built('libs/database/database.config.js'),
  ]);
  const classes = {
    api: API_CONFIGS,
    worker: WORKER_CONFIGS,
    migrate: [StandaloneConfig],
    bucket: [StorageConfig],
    doctor: [StandaloneConfig],
  };
  const every = [...API_CONFIGS, ...WORKER_CONFIGS, StandaloneConfig].flatMap((one) => settingsOf(one));
  const schema = JSON.parse(readFileSync(join(ROOT, 'models.schema.json'), 'utf8'));
  delete schema.$schema;
  const isCatalog = new Ajv({ allErrors: true, strict: false, logger: false, validateFormats: false }).compile(schema);
  const defaultOf = (configClass, name) =>
    new configClass()[settingsOf(configClass).find(({ env }) => env === name).property];
  return {
    settings: new Set([...FOREIGN, ...every.map(({ env }) => env)]),
    /** Secret settings, and whether each is a URL, which is secret only with a password. */
    secrets: new Map(every.filter(({ secret }) => secret).map(({ env, unit }) => [env, unit === 'URL'])),
    /** What the process would report about these values when it starts. */
    refusals(role, environment) {
      try {
        loadConfig(classes[role] ?? [], environment);
        return [];
      } catch (error) {
        return error.problems ?? [error.message];
      }
    },
    catalogProblems(text) {
      if (isCatalog(parse(text))) return [];
      return isCatalog.errors.map(({ instancePath, message }) => `models.yaml${instancePath} ${message}`);
    },
    longestCallMs: defaultOf(OpenAiConfig, 'OPENAI_TOTAL_TIMEOUT_MS'),
    longestCallOf: await callTimer(loadConfig),
    pool: defaultOf(DatabaseConfig, 'DATABASE_POOL'),
    longestChatMs: defaultOf(ChatConfig, 'CHAT_TOTAL_TIMEOUT_MS'),
    paths: {
      api: new Set(Object.keys(JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8')).paths)),
      worker: new Set(quoted(/'(\/[a-z]+)'/g, ['apps/worker/src', 'libs'])),
    },
    metrics: new Set(
      quoted(/\.(?:gauges?|counter|histogram)\(\s*'([a-z_]+)'/g, ['apps', 'libs']).map((name) => `darkroom_${name}`),
    ),
  };
}

/**
 * Creates a function that returns how many ms a provider call may take, from the text of a models.yaml and a worker's
 * settings.
 */
async function callTimer(loadConfig) {
  const [{ loadAdapters, longestCall }, { parseEntries }, { toCatalog }] = await Promise.all([
    built('libs/providers/descriptors.js'),
    built('libs/catalog/parse-catalog.js'),
    built('libs/catalog/to-catalog.js'),
  ]);
  let settings = {};
  const make = await loadAdapters({ settings: (of) => loadConfig([of], settings)[0], fetcher: undefined });
  return (text, environment) => {
    settings = environment;
    const { providers } = toCatalog(parseEntries(text, 'models.yaml', undefined), environment, () => undefined);
    return longestCall(providers.values(), make)?.ms ?? 0;
  };
}

function built(file) {
  const path = join(ROOT, 'dist', file);
  if (!existsSync(path)) throw new Error(`${file} is not built: run npm run build`);
  return import(pathToFileURL(path).href);
}

function quoted(pattern, folders) {
  return folders
    .flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true }).map((file) => join(folder, file)))
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
    .flatMap((file) => [...readFileSync(join(ROOT, file), 'utf8').matchAll(pattern)].map(([, name]) => name));
}
