import { text } from 'node:stream/consumers';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { waitUntil } from '#embedded/wait-until.js';
import { TEST_CERTIFICATE } from './test-certificate.js';

/** Login of the sender. */
const MAIL_USER = { name: 'dark@room', password: 'p/ss word' };

/** As strict relays want a client to introduce itself (Postfix: reject_non_fqdn_helo_hostname). */
const FULL_NAME = /^(?:[a-z0-9-]+\.)+[a-z][a-z0-9-]+$/i;
const NOT_A_FULL_NAME = 504;

/** A received mail. */
export interface ReceivedMail {
  /** The client's name in EHLO. */
  readonly hello: string;
  readonly to: readonly string[];
  readonly from: string;
  readonly secure: boolean;
  /** Headers and body, decoded from quoted-printable. */
  readonly content: string;
  /** One-time links in the plain text. */
  readonly links: readonly string[];
}

/** A real SMTP server on this machine, with STARTTLS and a password. */
export class MailServer {
  readonly mails: ReceivedMail[] = [];
  /** Error codes for the next recipients, instead of accepting their mail. */
  readonly refusals: number[] = [];
  connections = 0;

  private constructor(
    private readonly server: SMTPServer,
    readonly url: string,
  ) {}

  static async start(options: { readonly tls?: boolean } = {}): Promise<MailServer> {
    const hasTls = options.tls !== false;
    const server: SMTPServer = new SMTPServer({
      ...TEST_CERTIFICATE,
      logger: false,
      authMethods: ['PLAIN', 'LOGIN'],
      ...(hasTls ? {} : { disabledCommands: ['STARTTLS'], allowInsecureAuth: true }),
      onConnect: (_session, done) => {
        mailServer.connections += 1;
        done();
      },
      onAuth: ({ username, password }, _session, done) => {
        if (username === MAIL_USER.name && password === MAIL_USER.password) done(null, { user: username });
        else done(new Error('Invalid username or password'));
      },
      // Like Postfix, which looks at EHLO only when it knows the recipient.
      onRcptTo: (_address, { hostNameAppearsAs: hello }, done) => {
        const status = FULL_NAME.test(hello) ? mailServer.refusals.shift() : NOT_A_FULL_NAME;
        if (status === undefined) done();
        else done(Object.assign(new Error('not now'), { responseCode: status }));
      },
      onData: (stream, { envelope, secure, hostNameAppearsAs: hello }, done) => {
        void text(stream).then((raw) => {
          const content = decoded(raw);
          const plain = content.split('text/html')[0] ?? '';
          const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
          const to = envelope.rcptTo.map(({ address }) => address);
          mailServer.mails.push({
            hello,
            to,
            from,
            secure,
            content,
            links: plain.match(/https?:\S+#token=[\w-]+/g) ?? [],
          });
          done();
        });
      },
    });
    server.on('error', () => undefined);
    const listening = server.listen(0, '127.0.0.1');
    await once(listening, 'listening');
    const { port } = listening.address() as AddressInfo;
    const user = `${encodeURIComponent(MAIL_USER.name)}:${encodeURIComponent(MAIL_USER.password)}`;
    const mailServer = new MailServer(server, `smtp://${user}@127.0.0.1:${port}`);
    return mailServer;
  }

  /** The mails to an address, once there are this many. */
  async arrived(to: string, count = 1): Promise<ReceivedMail[]> {
    const found = (): ReceivedMail[] => this.mails.filter((mail) => mail.to.includes(to));
    if (await waitUntil(() => found().length >= count, { timeoutMs: 30_000 })) return found();
    throw new Error(`${found().length} of ${count} mails to ${to} arrived`);
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }
}

function decoded(raw: string): string {
  const bytes = raw
    .replace(/=\r?\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
