import type { Provider } from '../../api/operation.ts';
import { fromNow, secondsLeft } from '../../parts/format.ts';
import type { StateLook } from '../../parts/state.tsx';

/** The health of a provider, and what it means. */
export interface Health extends StateLook {
  readonly why: string;
}

/** Most important first: operator actions, then missing settings, then failures. */
export function healthOf(provider: Provider): Health {
  const {
    drained,
    type,
    has_key: hasKey,
    breaker,
    open_ms: openMs,
    rests_ms: restsMs,
    calls,
    concurrency,
    last_hour: hour,
  } = provider;
  if (type === null)
    return {
      label: 'Not in catalog',
      color: 'gray',
      why: 'Drained, and no model uses it anymore.',
    };
  if (drained !== null) {
    const reason = drained.reason === null ? '' : `: ${drained.reason}`;
    return { label: 'Drained', color: 'gray', why: `Drained ${fromNow(drained.since)}${reason}.` };
  }
  if (!hasKey)
    return { label: 'No key set', color: 'red', why: 'The provider needs a key, but the API was started without one.' };
  if (breaker === 'open') {
    const why = `Too many consecutive failures. Next attempt in ${secondsLeft(openMs)}.`;
    return { label: 'Unavailable', color: 'red', why };
  }
  if (breaker === 'half-open')
    return {
      label: 'Recovering',
      color: 'amber',
      why: 'Paused after failures. The next request tests it.',
    };
  if (restsMs > 0)
    return {
      label: 'Keys paused',
      color: 'amber',
      why: `No key can be used. Next attempt in ${secondsLeft(restsMs)}.`,
    };
  if (hour.failing > 0 && hour.last_failure !== null) {
    const when = fromNow(hour.last_failure.at);
    const why =
      hour.failing === 1
        ? `The last call failed ${when}.`
        : `The last ${hour.failing.toLocaleString('en')} calls failed, most recently ${when}.`;
    return { label: 'Failing', color: 'amber', why: `${why} It still gets requests.` };
  }
  if (concurrency !== null && calls >= concurrency)
    return {
      label: 'At capacity',
      color: 'amber',
      why: 'The call limit is reached. New calls wait or go to other providers.',
    };
  return { label: 'Healthy', color: 'green', why: 'Accepting requests.' };
}
