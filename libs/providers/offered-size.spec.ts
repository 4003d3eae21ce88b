import { offeredSize, type Size } from './offered-size.js';

const size = (text: string): Size => {
  const [width, height] = text.split('x').map(Number);
  return { width: width ?? 0, height: height ?? 0 };
};
const offered = ['1024x1024', '1536x1024', '1024x1536', '2048x2048'].map(size);

describe('offeredSize', () => {
  it.each([
    ['as it is', '1024x1024', '1024x1024'],
    ['the nearest shape that covers it', '1024x768', '1536x1024'],
    ['a larger one of another shape before a smaller one of its own', '1536x1088', '2048x2048'],
    ['the smaller of two of the same shape', '640x640', '1024x1024'],
    ['the nearest shape where none covers it', '3840x2160', '1536x1024'],
    ['the largest of the nearest shape where none covers it', '2880x2880', '2048x2048'],
  ])('asks for %s', (_name, wanted, asked) => {
    expect(offeredSize(size(wanted), offered)).toEqual(size(asked));
  });

  it('asks for what is wanted where everything is offered', () => {
    expect(offeredSize(size('1648x3840'), [])).toEqual(size('1648x3840'));
  });
});
