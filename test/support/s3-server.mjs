// A real S3 server for tests: OpenStack Swift with its strict s3api if Debian offers it, otherwise s3rver.
// When run directly, it prints one JSON line when ready, and stops on SIGTERM or when its parent has ended.
import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { once } from 'node:events';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { freePort } from '#embedded/free-port.js';
import { requireTool } from '../../scripts/build/prepare.mjs';

const run = promisify(execFile);
const SWIFT = '/usr/bin/swift-proxy-server';
const PACKAGES = ['swift-proxy', 'swift-account', 'swift-container', 'swift-object'];
const KEYS = { accessKeyId: 'test:tester', secretAccessKey: 'testing' };
const REGION = 'us-east-1';
const BUCKET = 'darkroom-test';
/** Long, because a start that is only slow must not become a run against s3rver, which leaves out assertions. */
const START_TIMEOUT_MS = 180_000;
/**
 * By default, its servers wait half a second for each other and one for a listing, which then misses the object; a node
 * that was late ten times is skipped for a minute. On a busy machine, all of them are late.
 */
const PATIENT = `node_timeout = 60
conn_timeout = 20
container_update_timeout = 60
error_suppression_limit = 1000000
`;

/**
 * Starts the strictest S3 server that this machine can run, and checks it with a write and a read.
 * `strict` says whether it verifies signatures; s3rver accepts a wrong secret.
 */
export async function startS3Server() {
  const problems = [];
  for (const start of [startSwift, startS3rver]) {
    try {
      const server = await start();
      if (!server.strict)
        console.error(`S3 tests run against s3rver, which checks less than S3 (${problems.join('; ')})`);
      return server;
    } catch (error) {
      problems.push(`${start.name}: ${error.message}`);
    }
  }
  throw new Error(`No S3 server could be started: ${problems.join('; ')}`);
}

async function startSwift() {
  if (!existsSync(SWIFT)) await installSwift();
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-swift-'));
  const children = [];
  const stop = async () => {
    await Promise.all(children.map(stopChild));
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const [proxy, account, container, object] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
    const ports = { proxy, account, container, object };
    await mkdir(join(folder, 'devices', 'd1'), { recursive: true });
    for (const [name, text] of Object.entries(swiftFiles(folder, ports))) await writeFile(join(folder, name), text);
    await run('/usr/bin/python3', [join(folder, 'rings.py')], { timeout: START_TIMEOUT_MS });
    for (const server of ['account', 'container', 'object', 'proxy'])
      children.push(spawnServer(`swift-${server}-server`, join(folder, `${server}.conf`)));
    await Promise.all(Object.values(ports).map((port) => waitForPort(port, children)));
    const address = { endpoint: `http://127.0.0.1:${proxy}`, region: REGION, ...KEYS, bucket: BUCKET, strict: true };
    await selfCheck(address);
    return { ...address, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startS3rver() {
  const S3rver = requireTool('s3rver');
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-s3rver-'));
  const server = new S3rver({ address: '127.0.0.1', port: 0, silent: true, directory: folder });
  const { port } = await server.run();
  const address = {
    endpoint: `http://127.0.0.1:${port}`,
    region: REGION,
    accessKeyId: 'S3RVER',
    secretAccessKey: 'S3RVER',
    bucket: BUCKET,
    strict: false,
  };
  const stop = async () => {
    await server.close();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await selfCheck(address);
    return { ...address, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Keeps the service manager from starting what apt installs: tests run their own copies. */
async function installSwift() {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version'))
    throw new Error('Swift is not installed, and only root on Debian can install it');
  const policy = '/usr/sbin/policy-rc.d';
  const ours = !existsSync(policy);
  if (ours) {
    await writeFile(policy, '#!/bin/sh\nexit 101\n');
    await chmod(policy, 0o755);
  }
  const options = { timeout: 180_000, env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, maxBuffer: 1 << 26 };
  try {
    await run('apt-get', ['update', '-qq'], options);
    await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...PACKAGES], options);
  } finally {
    if (ours) await rm(policy, { force: true });
  }
}

function swiftFiles(folder, ports) {
  const common = (port) => `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
workers = 0
user = ${userInfo().username}
swift_dir = ${folder}
devices = ${folder}/devices
mount_check = false
disable_fallocate = true
log_level = CRITICAL
${PATIENT}`;
  const storage = (name) => `${common(ports[name])}
[pipeline:main]
pipeline = ${name}-server
[app:${name}-server]
use = egg:swift#${name}
`;
  return {
    'swift.conf': `[swift-hash]
swift_hash_path_suffix = darkroom
[storage-policy:0]
name = one
default = yes
`,
    'rings.py': `from swift.common.ring import RingBuilder
for name, port in (('account', ${ports.account}), ('container', ${ports.container}), ('object', ${ports.object})):
    builder = RingBuilder(4, 1, 1)
    builder.add_dev({'id': 0, 'region': 1, 'zone': 1, 'ip': '127.0.0.1', 'port': port,
                     'replication_ip': '127.0.0.1', 'replication_port': port, 'device': 'd1', 'weight': 1, 'meta': ''})
    builder.rebalance()
    builder.get_ring().save('${folder}/' + name + '.ring.gz')
`,
    'account.conf': storage('account'),
    'container.conf': storage('container'),
    'object.conf': storage('object'),
    'proxy.conf': `${common(ports.proxy)}
[pipeline:main]
pipeline = catch_errors cache s3api tempauth slo dlo symlink versioned_writes proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:s3api]
use = egg:swift#s3api
location = ${REGION}
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
[filter:symlink]
use = egg:swift#symlink
[filter:versioned_writes]
use = egg:swift#versioned_writes
`,
  };
}

/** The kernel ends the server with this process, so a killed test run leaves nothing behind. */
function spawnServer(name, configuration) {
  const command = ['/usr/bin/python3', `/usr/bin/${name}`, configuration];
  const child = existsSync('/usr/bin/setpriv')
    ? spawn('/usr/bin/setpriv', ['--pdeathsig', 'SIGKILL', ...command], { stdio: 'ignore' })
    : spawn(command[0], command.slice(1), { stdio: 'ignore' });
  child.on('error', () => undefined);
  return child;
}

async function stopChild(child) {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

async function waitForPort(port, children) {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!(await accepts(port))) {
    const dead = children.find((child) => child.exitCode !== null);
    if (dead !== undefined) throw new Error(`a Swift server ended with code ${dead.exitCode}`);
    if (Date.now() > deadline) throw new Error(`nothing listens on port ${port}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function accepts(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => (socket.destroy(), resolve(true)));
    socket.once('error', () => resolve(false));
  });
}

/** On some machines, Swift responds with 200 but stores nothing. */
async function selfCheck({ endpoint, region, accessKeyId, secretAccessKey, bucket }) {
  const client = new S3Client({
    endpoint,
    region,
    credentials: { accessKeyId, secretAccessKey },
    forcePathStyle: true,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  try {
    const text = 'what is written must be read';
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
    await client.send(new PutObjectCommand({ Bucket: bucket, Key: 'start/check', Body: text }));
    const stored = await client.send(new GetObjectCommand({ Bucket: bucket, Key: 'start/check' }));
    if ((await stored.Body.transformToString()) !== text) throw new Error('the server did not keep what was written');
  } finally {
    client.destroy();
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { stop, ...address } = await startS3Server();
  const end = () => void stop().then(() => process.exit(0));
  process.once('SIGTERM', end);
  process.once('SIGINT', end);
  const parent = process.ppid;
  setInterval(() => process.ppid === parent || end(), 1_000).unref();
  console.log(JSON.stringify(address));
}
