import { loadConfig } from '#config/load-config.js';
import { OperatorPoster } from '#egress/post-operator-url.js';
import { GuardrailConfig } from '#guardrail/guardrail.config.js';
import { Guardrail } from '#guardrail/guardrail.js';
import { Logger } from '#telemetry/logger.js';
import { Metrics } from '#telemetry/metrics.js';
import { Inconclusive } from './inconclusive.js';

/**
 * Has the configured guardrail check a harmless text. Throws an Error when it doesn't answer, ConfigError, and Inconclusive
 * when it blocks or changes the text.
 */
export async function guardrailAnswer(env: Readonly<Record<string, string | undefined>>): Promise<string> {
  const [config] = loadConfig([GuardrailConfig], env);
  const guardrail = new Guardrail(config, new OperatorPoster(), new Metrics(), new Logger('command', 'silent'));
  const verdict = await guardrail.probe();
  if (verdict !== 'allowed') throw new Inconclusive(`answers, but a harmless text is ${verdict}`);
  return config.unchecked === 'accept' ? 'answers; while it fails, requests are accepted unchecked' : 'answers';
}
