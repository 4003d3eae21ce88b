import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const DENIED =
  '<?xml version="1.0" encoding="UTF-8"?><Error><Code>AccessDenied</Code><Message>Access Denied.</Message></Error>';

/**
 * A policy in front of an S3 server, for a key that may not do everything: like AWS, MinIO and Ceph, it then answers 403,
 * also for objects that are missing if the key may not list the bucket.
 */
export class NarrowS3 {
  /** Whether the key lacks s3:ListBucket, s3:AbortMultipartUpload, or s3:GetObject for keys that match. */
  lists = false;
  aborts = true;
  denied: RegExp | undefined;
  /** The same for s3:DeleteObject. */
  undeletable: RegExp | undefined;
  /** What the server says of a missing object; AWS names the right. */
  message = 'Access Denied.';
  readonly asked: string[] = [];

  private constructor(
    private readonly upstream: URL,
    private readonly bucket: string,
    private readonly server: ReturnType<typeof createServer>,
  ) {}

  static async start(endpoint: string, bucket: string): Promise<NarrowS3> {
    const server = createServer();
    const policy: NarrowS3 = new NarrowS3(new URL(endpoint), bucket, server);
    server.on('request', (incoming: IncomingMessage, answer: ServerResponse) => policy.pass(incoming, answer));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return policy;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private pass(incoming: IncomingMessage, answer: ServerResponse): void {
    const { method = '', url = '', headers } = incoming;
    const { pathname, searchParams } = new URL(url, this.endpoint);
    const key = pathname.slice(`/${this.bucket}/`.length);
    this.asked.push(`${method} ${key}`);
    const isList = method === 'GET' && key === '';
    const isAbort = method === 'DELETE' && searchParams.has('uploadId');
    const isDelete = method === 'DELETE' && !searchParams.has('uploadId');
    const isRead = (method === 'GET' || method === 'HEAD') && !isList;
    const isDenied = (isRead && this.denied?.test(key)) || (isDelete && this.undeletable?.test(key));
    if ((isList && !this.lists) || (isAbort && !this.aborts) || isDenied === true) {
      incoming.resume();
      this.deny(answer);
      return;
    }
    const { hostname, port } = this.upstream;
    // The signature covers the host that the client named.
    const onward = request({ host: hostname, port, method, path: url, headers }, (found) => {
      if (isRead && found.statusCode === 404 && !this.lists) {
        found.resume();
        this.deny(answer);
        return;
      }
      answer.writeHead(found.statusCode ?? 502, found.headers);
      found.pipe(answer);
    });
    onward.on('error', () => answer.destroy());
    incoming.pipe(onward);
  }

  private deny(answer: ServerResponse): void {
    const body = DENIED.replace('Access Denied.', this.message);
    answer.writeHead(403, { 'content-type': 'application/xml', 'content-length': Buffer.byteLength(body) });
    answer.end(body);
  }
}
