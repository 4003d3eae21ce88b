import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A running S3 server with a bucket for tests. */
export interface TestS3 {
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly bucket: string;
  /** Whether it verifies signatures, like S3; the fallback server accepts a wrong secret. */
  readonly strict: boolean;
  stop(): Promise<void>;
}

/** False when this run uses the fallback server, which verifies nothing: tests of rejections are skipped. */
export const STRICT = process.env['TEST_S3_STRICT'] !== 'false';

/** The server of this test run (`TEST_S3_*`), or a new one. Throws when none can be started. */
export async function startS3(env: Readonly<Record<string, string | undefined>> = process.env): Promise<TestS3> {
  const endpoint = env['TEST_S3_ENDPOINT'];
  if (endpoint === undefined) return await startOwn();
  return {
    endpoint,
    region: env['TEST_S3_REGION'] ?? 'us-east-1',
    accessKeyId: required(env, 'TEST_S3_ACCESS_KEY_ID'),
    secretAccessKey: required(env, 'TEST_S3_SECRET_ACCESS_KEY'),
    bucket: required(env, 'TEST_S3_BUCKET'),
    strict: STRICT,
    stop: () => Promise.resolve(),
  };
}

async function startOwn(): Promise<TestS3> {
  const script = fileURLToPath(new URL('./s3-server.mjs', import.meta.url));
  const child = spawn(process.execPath, ['--no-warnings', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([once(lines, 'line'), exited.then(() => undefined)]);
  if (first === undefined) throw new Error('the S3 test server ended before it was ready');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
    lines.close();
  };
  const address = JSON.parse(String(first[0])) as Omit<TestS3, 'stop'>;
  if (address.strict || !STRICT) return { ...address, stop };
  await stop();
  throw new Error(
    'only the fallback S3 server runs here: set TEST_S3_STRICT=false to leave out what it does not check',
  );
}

function required(env: Readonly<Record<string, string | undefined>>, name: string): string {
  const value = env[name];
  if (value === undefined) throw new Error(`${name} is missing beside TEST_S3_ENDPOINT`);
  return value;
}
