import { EventEmitter } from 'node:events';
import { createServer } from 'node:http';
import { Socket } from 'node:net';
import { boundPipelining } from './pipelining.js';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe('boundPipelining', () => {
  /** A server that notes which requests began; `send` is a request of one connection, and returns its response. */
  function room() {
    const begun: number[] = [];
    const socket = new Socket();
    const server = createServer((request) => begun.push(Number(request.url)));
    boundPipelining(server);
    const send = (url: number): EventEmitter => {
      const response = new EventEmitter();
      server.emit('request', { socket, url }, response);
      return response;
    };
    return { begun, socket, send };
  }

  it('H1: begins a request once the response before has been sent', async () => {
    const { begun, send } = room();
    const first = send(1);
    const second = send(2);
    send(3);
    await nextTurn();
    expect(begun).toEqual([1]);
    first.emit('close');
    expect(begun).toEqual([1]);
    await nextTurn();
    expect(begun).toEqual([1, 2]);
    second.emit('close');
    await nextTurn();
    expect(begun).toEqual([1, 2, 3]);
  });

  it('begins a request once that comes just as the response before has been sent', async () => {
    const { begun, send } = room();
    send(1).emit('close');
    send(2);
    await nextTurn();
    expect(begun).toEqual([1, 2]);
  });

  it('H1: closes a connection with a seventeenth waiting request, and begins none of those that wait', async () => {
    const { begun, socket, send } = room();
    const first = send(1);
    for (let url = 2; url <= 17; url++) send(url);
    expect(socket.destroyed).toBe(true);
    first.emit('close');
    await nextTurn();
    expect(begun).toEqual([1]);
  });
});
