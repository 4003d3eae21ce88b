import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import type { AddressRules } from './address-rules.js';

/** Resolves a host name to all its addresses; gives up when the signal aborts. */
type Resolve = (hostname: string, signal: AbortSignal) => Promise<LookupAddress[]>;

/** Name resolution and trust of outgoing connections; tests pass their own. */
export interface Network {
  readonly resolve: Resolve;
  /** Certificate authority to trust instead of the built-in ones, as PEM. */
  readonly ca?: string;
}

/** No request was sent. The message omits the address, because errors are logged. */
class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
}

/**
 * Connects only to permitted addresses. It checks the resolved addresses that it then connects to, so a name that
 * resolves differently the next time (DNS rebinding) gains nothing. The signal ends name resolution.
 */
export function checkedConnect(
  rules: AddressRules,
  network: Network,
  timeoutMs: number,
  signal: AbortSignal,
): buildConnector.connector {
  const lookup: LookupFunction = (hostname, options, callback) => {
    network.resolve(hostname, signal).then(
      (addresses) => {
        const permitted = addresses.filter(({ address }) => rules.permits(address));
        const first = permitted[0];
        if (first === undefined) callback(new AddressRefused('the name has no public address'), '', 0);
        else if (options.all === true) callback(null, permitted);
        else callback(null, first.address, first.family);
      },
      (error: unknown) => callback(error as NodeJS.ErrnoException, '', 0),
    );
  };
  const trust = network.ca === undefined ? {} : { ca: network.ca };
  const connect = buildConnector({ lookup, timeout: timeoutMs, keepAlive: false, maxCachedSessions: 0, ...trust });
  return (options, callback) => {
    connect(options, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      // Literal addresses skip the lookup, so check the peer as well before anything is sent.
      if (socket.remoteAddress === undefined || !rules.permits(socket.remoteAddress)) {
        socket.destroy();
        return callback(new AddressRefused('connected to an address that is not public'), null);
      }
      return callback(null, socket);
    });
  };
}
