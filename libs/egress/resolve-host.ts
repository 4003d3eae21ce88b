import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { untilAborted } from './until-aborted.js';

/** Time limit of the first try, in ms; the second has twice as long. */
const QUERY = { timeout: 2_000, tries: 2 };
/** Some name servers never answer for IPv6: with IPv4 addresses at hand, wait so many ms, a lost packet's time. */
const IPV6_MS = 3_000;
/**
 * Names that only this machine and its own network define: one label, or below a domain that is never delegated. Nobody
 * outside can run a name server for them.
 */
const LOCAL_NAME = /^[^.]+\.?$|\.(?:internal|localhost)\.?$/;

let lastLookup: Promise<unknown> = Promise.resolve();

/**
 * Resolves a host name from outside to all its addresses, IPv4 first. Asks the name servers itself, because Node runs
 * only two lookups of the operating system at a time in the whole process, and can't cancel them: a name whose server
 * never answers would block Postgres, Redis and providers as well. Only local names, which may be in the hosts file, are
 * looked up there, one at a time. Throws the signal's reason when it aborts. `servers`: instead of the system's.
 */
export function resolveHost(
  hostname: string,
  signal: AbortSignal,
  servers?: readonly string[],
): Promise<LookupAddress[]> {
  return untilAborted(LOCAL_NAME.test(hostname) ? lookUp(hostname, signal) : query(hostname, signal, servers), signal);
}

function lookUp(hostname: string, signal: AbortSignal): Promise<LookupAddress[]> {
  const found = lastLookup.then(() => {
    signal.throwIfAborted();
    return lookup(hostname, { all: true });
  });
  lastLookup = found.catch(() => undefined);
  return found;
}

async function query(hostname: string, signal: AbortSignal, servers?: readonly string[]): Promise<LookupAddress[]> {
  // Canceling ends all queries of a resolver, so each name gets its own.
  const resolver = new Resolver(QUERY);
  if (servers !== undefined) resolver.setServers(servers);
  const cancel = (): void => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  let timer: NodeJS.Timeout | undefined;
  const first = resolver.resolve4(hostname).then((addresses) => {
    timer = setTimeout(cancel, IPV6_MS);
    return addresses;
  });
  const [ipv4, ipv6] = await Promise.allSettled([first, resolver.resolve6(hostname)]);
  clearTimeout(timer);
  signal.removeEventListener('abort', cancel);
  if (ipv4.status === 'rejected' && ipv6.status === 'rejected') throw ipv4.reason;
  return [...addresses(ipv4, 4), ...addresses(ipv6, 6)];
}

function addresses(answer: PromiseSettledResult<string[]>, family: number): LookupAddress[] {
  return answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : [];
}
