// Checks the production files against the compose schema and our own rules: those whose violation no test and no build of
// the image would find.
// usage: node scripts/check/deploy.mjs [root ...]
import 'reflect-metadata';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OpenAiConfig } from '#providers/openai/openai.config.js';
import { settingsOf } from '#config/setting.js';
import { API_CONFIGS } from '../../dist/apps/api/src/api-configs.js';
import { ChatConfig } from '../../dist/apps/api/src/chat/chat.config.js';
import { WORKER_CONFIGS } from '../../dist/apps/worker/src/worker-configs.js';
import { balancerProblems, environmentProblems, postgresProblems, redisProblems } from './deploy-rules/companions.mjs';
import { composeProblems, readCompose } from './deploy-rules/compose.mjs';
import { dockerfileProblems } from './deploy-rules/dockerfile.mjs';

const home = join(import.meta.dirname, '..', '..');
const roots = process.argv.length > 2 ? process.argv.slice(2) : [home];
const settings = knownSettings();
const roles = { api: namesIn(API_CONFIGS), worker: namesIn(WORKER_CONFIGS) };
/** The default; a longer timeout in models.yaml needs a longer grace time. */
const longestCallMs = new OpenAiConfig().totalTimeoutMs;
const longestChatMs = new ChatConfig().totalMs;
const operations = readFileSync(join(home, 'docs', 'operations.md'), 'utf8');
const redisRights = /^user darkroom on >PASSWORD (.+)$/m.exec(operations)?.[1];

let found = 0;
for (const root of roots) {
  for (const problem of problemsOf(root)) {
    found++;
    console.error(root === home ? problem : `${root}: ${problem}`);
  }
}
console.log(`${settings.size} known settings, ${found} problems in the deployment files`);
process.exitCode = found === 0 && settings.size > 0 ? 0 : 1;

function problemsOf(root) {
  const read = (file) => readFileSync(join(root, file), 'utf8');
  const named = (file, problems) => problems.map((problem) => `${file}: ${problem}`);
  const text = read('docker-compose.yml');
  const { document, problems } = readCompose(text);
  if (document === undefined) return named('docker-compose.yml', problems);
  return [
    ...named('docker-compose.yml', [
      ...problems,
      ...composeProblems(document, {
        settings,
        roles,
        longestCallMs,
        longestChatMs,
        isFile: (file) => existsSync(join(root, file)),
      }),
    ]),
    ...named('deploy/Dockerfile', dockerfileProblems(read('deploy/Dockerfile'))),
    ...named('deploy/haproxy.cfg', balancerProblems(read('deploy/haproxy.cfg'), document)),
    ...named('deploy/postgres.sql', postgresProblems(read('deploy/postgres.sql'), document)),
    ...named('deploy/redis.conf', redisProblems(read('deploy/redis.conf'), document, redisRights)),
    ...named('deploy/env.example', environmentProblems(read('deploy/env.example'), text)),
  ];
}

function namesIn(configs) {
  return new Set(configs.flatMap((config) => settingsOf(config).map(({ env }) => env)));
}

/** The names of all settings in the code. */
function knownSettings() {
  const names = new Set(['NODE_ENV', 'LD_PRELOAD']);
  for (const folder of ['apps', 'libs']) {
    for (const file of readdirSync(join(home, folder), { recursive: true })) {
      if (!/(\.config|config\/shared-settings)\.ts$/.test(file)) continue;
      const source = readFileSync(join(home, folder, file), 'utf8');
      for (const [, name] of source.matchAll(/\bSetting\(\s*'([A-Z0-9_]+)'/g)) names.add(name);
    }
  }
  return names;
}
