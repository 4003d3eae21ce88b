import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A span as received by OTLP/HTTP in JSON. */
export interface ReceivedSpan {
  readonly name: string;
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: the root of its trace. */
  readonly parentSpanId: string;
  readonly durationMs: number;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly failed: boolean;
}

/** A trace receiver on this machine. */
export interface OtlpReceiver {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** All bodies and headers so far, as received. */
  raw(): string;
  close(): Promise<void>;
}

interface OtlpValue {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
}
interface OtlpAttribute {
  readonly key: string;
  readonly value: OtlpValue;
}
interface OtlpSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly links?: readonly { traceId: string; spanId: string }[];
  readonly attributes?: readonly OtlpAttribute[];
  readonly status?: { code?: number };
}
interface OtlpBody {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly OtlpAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

/** Receives spans at /v1/traces; with `hangs`, it never responds. */
export async function startOtlpReceiver({ hangs = false } = {}): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const raw: string[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      raw.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)} ${body}`);
      if (hangs) return;
      for (const { resource, scopeSpans } of (JSON.parse(body) as OtlpBody).resourceSpans) {
        const service = String(valuesOf(resource.attributes)['service.name']);
        for (const span of scopeSpans.flatMap((scope) => scope.spans)) spans.push(toSpan(span, service));
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    raw: () => raw.join('\n'),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function toSpan(span: OtlpSpan, service: string): ReceivedSpan {
  const { name, traceId, spanId, parentSpanId = '', links = [], attributes = [], status } = span;
  const durationMs = Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6;
  const of = links.map((link) => ({ traceId: link.traceId, spanId: link.spanId }));
  const failed = status?.code === 2;
  return {
    name,
    service,
    traceId,
    spanId,
    parentSpanId,
    durationMs,
    links: of,
    attributes: valuesOf(attributes),
    failed,
  };
}

function valuesOf(attributes: readonly OtlpAttribute[]): Record<string, string | number | boolean> {
  return Object.fromEntries(
    attributes.map(({ key, value: { stringValue, boolValue, intValue, doubleValue } }) => [
      key,
      stringValue ?? boolValue ?? Number(intValue ?? doubleValue),
    ]),
  );
}
