import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const home = process.cwd();
const folder = mkdtempSync(join(tmpdir(), 'check-deploy-'));
const COMPOSE = 'docker-compose.yml';
const DOCKERFILE = 'deploy/Dockerfile';
const BUILD = 'build: { context: ., dockerfile: deploy/Dockerfile }\n  ';
const BUILT = '      migrate: { condition: service_completed_successfully }\n';
const BALANCER = 'deploy/haproxy.cfg';
const POSTGRES = 'deploy/postgres.sql';
const REDIS = 'deploy/redis.conf';
const KILLED = 'stop_grace_period must exceed SHUTDOWN_DELAY_MS and SHUTDOWN_GRACE_MS';

afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** One change to the real files, and what must be said about it. */
type Fault = readonly [file: string, from: string | RegExp, to: string, problem: string];

const faults: readonly Fault[] = [
  [COMPOSE, 'healthcheck: &probe', 'helthcheck: &probe', 'services.api must NOT have additional properties helthcheck'],
  [COMPOSE, 'replicas: 1', 'replicas: [many]', 'services.worker.deploy.replicas must be'],
  [COMPOSE, 'services:\n', 'services:\n\tapi:\n', 'Tabs are not allowed'],
  [COMPOSE, 'haproxy:3.2.22-alpine', 'haproxy:latest', 'balancer: the image haproxy:latest is not pinned'],
  [COMPOSE, 'postgres:18.6-bookworm', 'postgres', 'postgres: the image postgres is not pinned'],
  [COMPOSE, 'read_only: true', 'read_only: false', 'worker: the root file system must be read_only'],
  [COMPOSE, 'cap_drop: [ALL]', 'cap_drop: [NET_RAW]', 'api: cap_drop must be ALL'],
  [COMPOSE, 'user: node', 'user: node\n  cap_add: [SYS_ADMIN]', 'api: no capability may be added'],
  [COMPOSE, 'no-new-privileges=true', 'no-new-privileges=false', 'redis: security_opt lacks no-new-privileges'],
  [COMPOSE, 'user: node', 'user: node\n  privileged: true', 'worker: privileged opens the container'],
  [COMPOSE, 'user: node', 'user: root', 'api: user must be given and not be root'],
  [COMPOSE, '    user: redis\n', '', 'redis: user must be given and not be root'],
  [COMPOSE, 'memory: 1g, pids: 64', 'pids: 64', 'redis: deploy.resources.limits lacks memory'],
  [COMPOSE, 'shm_size: 256m', "ports: ['5432:5432']", 'postgres: only the balancer publishes ports'],
  [COMPOSE, '  restart: unless-stopped\n', '', 'worker: it needs a restart policy'],
  [COMPOSE, '    healthcheck: *probe\n', '', 'worker: it needs a healthcheck'],
  [COMPOSE, '880s\n    # outside: chat', '870s\n    # outside: chat', `api: ${KILLED}`],
  [COMPOSE, '880s\n    # outside: chat', '876s\n    # outside: chat', `api: ${KILLED}`],
  [COMPOSE, '880s\n    # outside: providers', '40s\n    # outside: providers', `worker: ${KILLED}`],
  [COMPOSE, "'870000'", '${GRACE:-870000}', 'api: SHUTDOWN_DELAY_MS and SHUTDOWN_GRACE_MS must be plain numbers'],
  [COMPOSE, "  SHUTDOWN_GRACE_MS: '870000'\n", '', 'api: SHUTDOWN_GRACE_MS must be given'],
  [COMPOSE, "'870000'", "'600000'", 'worker: SHUTDOWN_GRACE_MS must reach the longest time limit'],
  [COMPOSE, "'870000'", "'100000'", 'api: SHUTDOWN_GRACE_MS must exceed SYNC_WAIT_MS'],
  [COMPOSE, 'WAIT_MS:-100000', 'WAIT_MS:-870000', 'api: SHUTDOWN_GRACE_MS must exceed SYNC_WAIT_MS'],
  [COMPOSE, /SYNC_WAIT_MS: .*/, 'SYNC_WAIT_MS: ${SYNC_WAIT_MS}', 'api: SHUTDOWN_GRACE_MS must exceed SYNC_WAIT_MS'],
  [COMPOSE, "'870000'", "'599999'", 'api: SHUTDOWN_GRACE_MS must reach CHAT_TOTAL_TIMEOUT_MS'],
  [COMPOSE, 'HOST: 0.0.0.0', "CHAT_TOTAL_TIMEOUT_MS: '900000'", 'api: SHUTDOWN_GRACE_MS must reach CHAT_TOTAL'],
  [COMPOSE, /SECRET_KEY: \$\{SECRET_KEY.*/, 'SECRET_KEY: changeme', 'api: SECRET_KEY must come from outside'],
  [COMPOSE, /OIDC_CLIENT_SECRET: .*/, 'OIDC_CLIENT_SECRET: ${K:-x}', 'api: OIDC_CLIENT_SECRET must come from outside'],
  [COMPOSE, /OPENAI_API_KEY: .*/, 'OPENAI_API_KEY: ${K:-sk-shared}', 'worker: OPENAI_API_KEY must come from outside'],
  [COMPOSE, /ROOT_SECRET_KEY: .*/, 'ROOT_SECRET_KEY: ${X:-admin}', 'store: ROOT_SECRET_KEY must come from outside'],
  [COMPOSE, /darkroom:\$\{POSTGRES_PASSWORD.*\}@/, 'darkroom:darkroom@', 'migrate: DATABASE_URL holds a password'],
  [
    COMPOSE,
    '      WORKER_CONCURRENCY',
    '      LEASE_MS: 9000\n      WORKER_CONCURRENCY',
    'api and worker both read LEASE_MS',
  ],
  [COMPOSE, 'LOG_LEVEL: ', 'LOG_LEVLE: ', 'worker: LOG_LEVLE is no setting of ours'],
  [COMPOSE, '  redis:\n  store:\n\nnet', '  store:\n\nnet', 'redis: the volume redis is not defined'],
  [COMPOSE, '  store:\n\nnet', '  store:\n  old:\n\nnet', 'the volume old is used by nobody'],
  [COMPOSE, 'redis.conf:ro', 'redis.conf', 'redis: ./deploy/redis.conf must be mounted read-only'],
  [COMPOSE, './deploy/redis.conf', './deploy/rediss.conf', 'the file ./deploy/rediss.conf does not exist'],
  [COMPOSE, "'redis:/data'", "'/var/run/docker.sock:/data'", '/var/run/docker.sock is a path of one machine'],
  [COMPOSE, 'networks: [front, back]', 'networks: [frnt, back]', 'balancer: the network frnt is not defined'],
  [
    COMPOSE,
    'redis: { condition: service_healthy }',
    'redis: { condition: service_started }',
    'api: it must wait for redis',
  ],
  [
    COMPOSE,
    'migrate: { condition: service_completed_successfully }',
    'migrate: { condition: service_started }',
    'with service_completed_successfully',
  ],
  [COMPOSE, 'max-size: 20m, ', '', 'redis: its log needs a driver with max-size and max-file'],
  [COMPOSE, 'driver: json-file', 'driver: syslog', 'api: its log needs a driver'],
  // O3: four services that built one image name in parallel stopped each other.
  [
    COMPOSE,
    'pull_policy: never',
    `${BUILD}pull_policy: build`,
    'one service builds our image, not api, worker, migrate',
  ],
  [COMPOSE, `  ${BUILD}`, '', 'one service builds our image, not none'],
  [COMPOSE, 'pull_policy: never', 'pull_policy: missing', 'worker: pull_policy must be never'],
  [COMPOSE, BUILD, `${BUILD}  pull_policy: build\n  `, 'migrate: pull_policy must be never'],
  [COMPOSE, `${BUILT}      store:`, '      store:', 'bucket: it must wait for the service that builds'],
  [COMPOSE, 'store: { condition', 'shop: { condition', 'api: it depends on shop, which is not there'],
  [DOCKERFILE, 'node:22.23.2-bookworm-slim', 'node:22-slim', 'the image node:22-slim is not pinned'],
  [DOCKERFILE, 'USER node\n', '', 'the last USER must not be root'],
  [DOCKERFILE, 'USER node\n', 'USER node\nUSER 0:0\n', 'the last USER must not be root'],
  [DOCKERFILE, 'CMD ["api"]', 'CMD node dist/bin/api.js', 'CMD must be the role alone'],
  [DOCKERFILE, /HEALTHCHECK.*/, '', 'it needs a HEALTHCHECK'],
  [DOCKERFILE, /LABEL (.|\n)*1\.0\.0"\n/, '', 'it needs OCI labels'],
  [DOCKERFILE, 'COPY package.json ./', 'ADD https://host.test/package.json ./', 'ADD fetches and unpacks'],
  [DOCKERFILE, 'ENV NODE_ENV=production', 'ENV NODE_ENV=production SECRET_KEY=x', 'SECRET_KEY: whoever has the image'],
  [DOCKERFILE, 'USER node\n', 'ARG NPM_TOKEN\nUSER node\n', 'NPM_TOKEN: whoever has the image'],
  [DOCKERFILE, /npm ci --ignore-scripts/, 'npm ci', 'packages are installed by npm ci --ignore-scripts'],
  [DOCKERFILE, '--no-install-recommends', '', 'apt-get install needs --no-install-recommends'],
  [
    DOCKERFILE,
    'RUN node scripts/build/build.mjs',
    'RUN curl -O https://host.test/x',
    'nothing is fetched past a package manager',
  ],
  [BALANCER, 'timeout server 130s', 'timeout server 60s', 'timeout server must exceed SYNC_WAIT_MS'],
  [BALANCER, 'timeout client 130s', 'timeout client 60s', 'timeout client must exceed SYNC_WAIT_MS'],
  [BALANCER, 'timeout server 130s', 'timeout server 300s', 'the stop_grace_period of the balancer'],
  [COMPOSE, 'WAIT_MS:-100000', 'WAIT_MS:-125000', 'timeout client must exceed SYNC_WAIT_MS'],
  [BALANCER, /http-error status 504 .*\n/, '', 'its own 504 must carry x-should-retry: true'],
  [BALANCER, /(?<=status 504 .*) hdr x-should-retry true/, '', 'its own 504 must carry x-should-retry: true'],
  [BALANCER, /(?<=status 502 .*)retry true/, 'retry false', 'its own 502 must carry x-should-retry: true'],
  [BALANCER, '"type":"timeout_error"', '"type":"api_error"', "its own 504 must have the API's error body"],
  [BALANCER, /(?<=status 502 .*),"param":null/, '', "its own 502 must have the API's error body"],
  [BALANCER, 'status 408 content-type "application/json"', 'status 408 content-type "text/html"', 'its own 408 must'],
  [BALANCER, 'retry-on conn-failure', 'retry-on all-retryable-errors', 'may buy an image twice'],
  [BALANCER, /option http-server-close\n/, '', 'option http-server-close is needed'],
  [BALANCER, 'option redispatch', 'option redispatch\n    option http-buffer-request', 'must pass unbuffered'],
  [BALANCER, 'gt 230686720', 'gt 1048576', 'bodies of 220 MiB must pass'],
  [BALANCER, 'reject if crowded { sc0', 'reject if { sc0', 'a source that has many must get no more'],
  [BALANCER, 'reject if crowded { sc1', 'reject if { sc1', 'a network that has many must get no more'],
  [BALANCER, 'http-request 10s', 'http-request 15s', 'a half-sent head holds a connection'],
  [BALANCER, 'presetenv NETWORK_CONNECTIONS 800', '', 'NETWORK_CONNECTIONS needs a default'],
  [BALANCER, / if \{ sc1_conn_cur gt .*/, '', 'who exceeds NETWORK_CONNECTIONS must be told'],
  [BALANCER, 'presetenv SOURCE_REQUESTS 2000', 'presetenv SOURCE_REQUESTS 0', 'SOURCE_REQUESTS needs a default'],
  [BALANCER, 'GET /readyz', 'GET /', 'instances must be checked by /readyz'],
  [BALANCER, 'fall 2', 'fall 1', 'fall must be 2 at least'],
  [BALANCER, 'server-template api 100', 'server-template api 10', 'server-template must have room for 100'],
  [BALANCER, ':8080" v4v6', ':8080"', 'every bind must take IPv6 and IPv4'],
  [COMPOSE, 'networks: [front, back]', 'networks: [front]', 'a scraper on the network back must reach the exporter'],
  [COMPOSE, ":8080']", ":8080', '8405:8405']", 'only port 8080 is published'],
  [REDIS, 'noeviction', 'allkeys-lru', 'it lacks: maxmemory-policy noeviction'],
  [REDIS, 'appendonly yes', 'appendonly no', 'it lacks: appendonly yes'],
  [REDIS, 'dir /data', 'requirepass redis', 'a password stands in it'],
  [REDIS, 'maxmemory 512mb', 'maxmemory 513mb', 'maxmemory must be at most half'],
  [REDIS, 'maxmemory 512mb\n', '', 'maxmemory must be at most half'],
  [REDIS, 'maxmemory 512mb', 'maxmemory 0', 'maxmemory must be at most half'],
  [COMPOSE, 'memory: 1g, pids: 64', 'memory: 768m, pids: 64', 'maxmemory must be at most half'],
  [COMPOSE, ' -dbsize', '', 'its user must have the rights of docs/operations.md'],
  [COMPOSE, 'user default on >', 'requirepass ', 'its user must have the rights of docs/operations.md'],
  [
    COMPOSE,
    '      POSTGRES_PASSWORD:',
    '      POSTGRES_USER: darkroom\n      POSTGRES_PASSWORD:',
    'POSTGRES_USER must not be set',
  ],
  [COMPOSE, 'darkroom.sql:ro', 'darkroom:ro', 'the image must run it on an empty volume'],
  [POSTGRES, 'darkroom LOGIN', 'darkroom SUPERUSER LOGIN', 'its statements must be'],
  [POSTGRES, 'ALTER ROLE postgres PASSWORD NULL;\n', '', 'its statements must be'],
  [POSTGRES, /$/, 'GRANT pg_execute_server_program TO darkroom;\n', 'its statements must be'],
  ['deploy/env.example', 'REDIS_PASSWORD=\n', '', 'REDIS_PASSWORD is needed and not listed'],
  ['deploy/env.example', 'REDIS_PASSWORD=\n', 'REDIS_PASSWORD=redis\n', 'REDIS_PASSWORD is a secret and must be empty'],
  ['deploy/env.example', 'HTTP_PORT', 'HTTP_PROT', 'HTTP_PROT is read by nobody'],
];

/** A folder with the real files, one of them changed. */
function makeRoot(name: string, fault?: Fault): string {
  const root = join(folder, name);
  mkdirSync(root);
  for (const file of [COMPOSE, 'deploy']) cpSync(join(home, file), join(root, file), { recursive: true });
  if (fault === undefined) return root;
  const [file, from, to] = fault;
  const before = readFileSync(join(root, file), 'utf8');
  const after = before.replace(from, () => to);
  if (after === before) throw new Error(`nothing to replace in ${file}: ${String(from)}`);
  writeFileSync(join(root, file), after);
  return root;
}

function check(roots: readonly string[]): { status: number | null; problems: string[] } {
  const script = join(home, 'scripts', 'check', 'deploy.mjs');
  const { status, stderr } = spawnSync(process.execPath, [script, ...roots], { encoding: 'utf8', timeout: 60_000 });
  return { status, problems: stderr.split('\n').filter((line) => line !== '') };
}

it('accepts the files as they are', () => {
  expect(check([makeRoot('sound')])).toEqual({ status: 0, problems: [] });
});

it('accepts images that are pinned to a digest', () => {
  const root = makeRoot('digests');
  const text = readFileSync(join(root, COMPOSE), 'utf8');
  const pinned = text.replace(/(image: (?!darkroom)\S+)/g, `$1@sha256:${'0'.repeat(64)}`);
  expect(pinned.match(/@sha256:/g)).toHaveLength(4);
  writeFileSync(join(root, COMPOSE), pinned);
  expect(check([root])).toEqual({ status: 0, problems: [] });
});

it('says what is wrong with each faulty file', () => {
  const cases = faults.map((fault, index) => ({ fault, root: makeRoot(`fault-${index}`, fault) }));
  const { status, problems } = check(cases.map(({ root }) => root));
  expect(status).toBe(1);
  const unnoticed = cases.filter(
    ({ fault, root }) => !problems.some((line) => line.startsWith(`${root}: `) && line.includes(fault[3])),
  );
  const said = unnoticed.map(({ fault, root }) => [fault[3], problems.filter((line) => line.startsWith(`${root}: `))]);
  expect(said).toEqual([]);
});
