import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { waitUntil } from '#embedded/wait-until.js';
import { VERIFY_SNIPPETS } from '../../apps/dashboard/src/parts/verify-snippets.js';
import { freePort } from '../support/free-port.js';
import { patient } from '../support/patience.js';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

describe('the code that the console offers for verifying webhooks', () => {
  it('takes what is genuine and refuses the rest', async () => {
    const port = await freePort();
    const code = VERIFY_SNIPPETS['Node']!.replace('8000', String(port));
    const receiver = spawn(process.execPath, ['--input-type=module', '-e', code], {
      cwd: join(import.meta.dirname, '../..'),
      env: { DARKROOM_WEBHOOK_SECRET: SECRET },
    });
    let output = '';
    receiver.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    try {
      const send = async (body: string, signed = body): Promise<number> => {
        const at = new Date();
        const headers = {
          'webhook-id': 'evt_1',
          'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
          'webhook-signature': new Webhook(SECRET).sign('evt_1', at, signed),
        };
        const signal = AbortSignal.timeout(patient(20_000));
        const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body, headers, signal });
        return answer.status;
      };
      const test = JSON.stringify({ type: 'webhook.test', data: {} });
      const isTaken = () =>
        send(test).then(
          (status) => status === 204,
          () => false,
        );
      expect(await waitUntil(isTaken, { timeoutMs: 30_000 })).toBe(true);
      expect(await send(test, `${test} `)).toBe(400);
      const isPrinted = (): boolean => output.includes('Test event received.');
      expect(await waitUntil(isPrinted, { timeoutMs: 30_000 })).toBe(true);
    } finally {
      receiver.kill();
      await once(receiver, 'exit');
    }
  });
});
