import { loadConfig } from '#config/load-config.js';
import { OperatorPoster } from '#egress/post-operator-url.js';
import { waitUntil } from '#embedded/wait-until.js';
import { GuardrailConfig } from '#guardrail/guardrail.config.js';
import { Guardrail } from '#guardrail/guardrail.js';
import { Logger } from '#telemetry/logger.js';
import { Metrics } from '#telemetry/metrics.js';
import { guardrailAnswer } from '../../apps/standalone/src/commands/guardrail-check.js';
import { hang, json, startUpstream, type ScriptedUpstream } from '../support/scripted-upstream.js';

const PLACES_OF_ONE = 32;
const WAITING_OF_ONE = 256;

describe('a guardrail', () => {
  let guard: ScriptedUpstream;
  beforeEach(async () => {
    guard = await startUpstream();
  });
  afterEach(() => guard.close());

  it('that answers is found by the doctor', async () => {
    const env = { GUARDRAIL_URL: guard.url };
    guard.script(json({ action: 'NONE' }));
    expect(await guardrailAnswer(env)).toBe('answers');
    expect(await guardrailAnswer({ ...env, GUARDRAIL_FAILURE: 'accept' })).toContain('accepted unchecked');
    guard.script(json({ action: 'BLOCKED' }));
    await expect(guardrailAnswer(env)).rejects.toThrow('answers, but a harmless text is blocked');
    guard.script(json({ detail: 'no key' }, 401));
    await expect(guardrailAnswer(env)).rejects.toThrow('does not answer as LiteLLM');
    await expect(guardrailAnswer({ GUARDRAIL_URL: 'ftp://guard' })).rejects.toThrow('GUARDRAIL_URL must look like');
  });

  it('that hangs lets one account wait so often, and no other account behind it', async () => {
    guard.script(hang());
    const [config] = loadConfig([GuardrailConfig], { GUARDRAIL_URL: guard.url, GUARDRAIL_TIMEOUT_MS: '60000' });
    const metrics = new Metrics();
    const guardrail = new Guardrail(config, new OperatorPoster(), metrics, new Logger('test', 'silent'));
    const callers = new AbortController();
    const check = (accountId: string) => {
      const about = { callId: 'task_1', model: 'm', keyId: 'key_1', texts: ['a pear'], images: [], accountId };
      return guardrail.check(about, callers.signal);
    };
    const loud = Array.from({ length: PLACES_OF_ONE + WAITING_OF_ONE }, () => check('loud').catch(() => 'left'));
    await expect(check('loud')).rejects.toMatchObject({ code: 'server_is_overloaded' });
    const quiet = check('quiet').catch(() => 'left');
    expect(await waitUntil(() => guard.calls.length === PLACES_OF_ONE + 1, { timeoutMs: 30_000 })).toBe(true);
    callers.abort();
    expect(new Set(await Promise.all([...loud, quiet]))).toEqual(new Set(['left']));
    guard.script(json({ action: 'NONE' }));
    const calm = new AbortController().signal;
    const about = { callId: 'task_1', model: 'm', keyId: 'key_1', texts: ['a pear'], images: [], accountId: 'loud' };
    expect(await guardrail.check(about, calm)).toBeUndefined();
    expect(await metrics.text()).toContain('darkroom_guardrail_seconds_count{outcome="allowed"} 1');
  });
});
