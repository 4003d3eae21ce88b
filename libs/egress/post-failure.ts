/** Error codes of OpenSSL and Node for invalid certificates and failed handshakes. */
const TLS_CODE = /CERT|TLS|SSL|SIGNATURE|EPROTO/;

/** Why a message got no answer: a timeout, an invalid certificate, or any other failure before its end. */
export type PostFailure = 'timeout' | 'tls' | 'unreachable';

/** `late`: the time limit of the whole exchange has passed. */
export function postFailureOf(cause: unknown, late: boolean): PostFailure {
  if (late) return 'timeout';
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : '';
  if (/^UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT$/.test(code)) return 'timeout';
  return TLS_CODE.test(code) ? 'tls' : 'unreachable';
}
