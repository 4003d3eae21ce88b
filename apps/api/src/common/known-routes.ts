import { Injectable } from '@nestjs/common';
import type { RouteOptions } from 'fastify';

/** The registered routes, to tell a wrong method from an unknown URL. */
@Injectable()
export class KnownRoutes {
  private readonly routes: { readonly pattern: RegExp; readonly methods: Set<string> }[] = [];

  add(route: Pick<RouteOptions, 'method' | 'url'>): void {
    const source = route.url
      .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
      .replace(/\\\*/g, '.*')
      .replace(/:[A-Za-z]\w*/g, '[^/]+');
    const known = this.routes.find(({ pattern }) => pattern.source === new RegExp(`^${source}$`).source);
    const methods = known?.methods ?? new Set<string>();
    if (known === undefined) this.routes.push({ pattern: new RegExp(`^${source}$`), methods });
    for (const method of [route.method].flat()) methods.add(method);
  }

  /** The methods that a URL accepts; none when it is unknown. */
  methodsOf(url: string): string[] {
    const path = url.split('?', 1)[0] ?? '';
    return [...new Set(this.routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => [...methods]))];
  }
}
