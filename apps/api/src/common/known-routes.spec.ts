import { KnownRoutes } from './known-routes.js';

const routes = new KnownRoutes();
routes.add({ method: 'GET', url: '/v1/tasks/:taskId' });
routes.add({ method: 'HEAD', url: '/v1/tasks/:taskId' });
routes.add({ method: 'POST', url: '/v1/tasks/batch' });
routes.add({ method: ['GET', 'HEAD'], url: '/docs/*' });

describe('KnownRoutes', () => {
  it.each([
    ['/v1/tasks/task_1?a=/b', ['GET', 'HEAD']],
    ['/v1/tasks/batch', ['GET', 'HEAD', 'POST']],
    ['/v1/tasks/a/b', []],
    ['/v1/tasks/', []],
    ['/v1xtasks/a', []],
    ['/docs/a/b.css', ['GET', 'HEAD']],
    ['/', []],
  ])('%s takes %p', (url, methods) => {
    expect(routes.methodsOf(url)).toEqual(methods);
  });
});
