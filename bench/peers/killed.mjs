import { setTimeout as delay } from 'node:timers/promises';
import { requireTool } from '../../scripts/build/prepare.mjs';
import { sameImage } from './cases.mjs';

const CALLS = 50;
const LATENCY_MS = 4_000;
const IN_FLIGHT_MS = 30_000;
const RESTART_MS = 60_000;
const ANSWERS_MS = 120_000;

/**
 * 50 callers with the default OpenAI SDK (two retries) order an image each; while all calls are at the provider,
 * `processes` of the side are killed with SIGKILL and started again. Counts the right images, and the payments to the
 * provider.
 */
export async function killInFlight({ stage, side, processes, provider }) {
  const ask = async (path) => await (await fetch(`${provider.address}${path}`)).text();
  const ledger = async () => JSON.parse(await ask('/ledger'));
  await ask(`/latency?ms=${LATENCY_MS}`);
  const image = Buffer.from(await (await fetch(`${provider.address}/image.png`)).arrayBuffer());
  const calls = callAll(side, image);
  const inFlight = await until(async () => (await ledger()).inFlight >= CALLS, IN_FLIGHT_MS);
  if (!inFlight) {
    const [outcome] = await calls;
    await ask('/latency?ms=0');
    throw new Error(`not all of its ${CALLS} calls came to the provider: ${outcome}`);
  }
  await Promise.all(processes.map((one) => stage.kill(one)));
  const killedAt = performance.now();
  const started = await Promise.all(processes.map((one) => stage.startAgain(one)));
  side.processes = side.processes.map((one) => started.find(({ name }) => name === one.name) ?? one);
  const [readyUrl] = started.flatMap((one) => one.readyUrl ?? []);
  await until(() => answers(readyUrl), RESTART_MS);
  const restartMs = performance.now() - killedAt;
  const outcomes = await calls;
  const { paid } = await ledger();
  await ask('/latency?ms=0');
  return {
    calls: CALLS,
    inFlight: CALLS,
    answered: count(outcomes, 'answered'),
    paid,
    restartMs,
    outcomes,
  };
}

async function callAll({ port, key, headers }, image) {
  const OpenAI = requireTool('openai');
  const client = new OpenAI({
    baseURL: `http://127.0.0.1:${port}/v1`,
    apiKey: key,
    defaultHeaders: headers,
    timeout: ANSWERS_MS,
  });
  const order = { model: 'gpt-image-2', size: 'auto' };
  return await Promise.all(
    Array.from({ length: CALLS }, async (_, number) => {
      try {
        const { data } = await client.images.generate({ ...order, prompt: `A lighthouse, n-${number} of a series` });
        await sameImage(Buffer.from(data[0].b64_json, 'base64'), image);
        return 'answered';
      } catch (error) {
        return error.code ?? error.status ?? error.message;
      }
    }),
  );
}

function count(values, wanted) {
  return values.filter((value) => value === wanted).length;
}

async function answers(url) {
  if (url === undefined) return true;
  const answer = await fetch(url, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined);
  await answer?.body?.cancel();
  return answer?.ok === true;
}

/** Whether the condition became true in time. */
async function until(condition, timeoutMs) {
  const end = performance.now() + timeoutMs;
  while (performance.now() < end) {
    if (await condition()) return true;
    await delay(50);
  }
  return false;
}
