import { useEffect, useState } from 'react';
import type { Pixels } from './reference-shape.ts';

/** The dimensions of an image file; undefined while loading, null if unreadable. */
export function useImageSize(file: File | undefined): Pixels | null | undefined {
  const [read, setRead] = useState<{ readonly of: File; readonly pixels: Pixels | null }>();
  useEffect(() => {
    if (file === undefined) return;
    let gone = false;
    const tell = (pixels: Pixels | null) => {
      if (!gone) setRead({ of: file, pixels });
    };
    createImageBitmap(file).then(
      ({ width, height }) => tell({ width, height }),
      () => tell(null),
    );
    return () => {
      gone = true;
    };
  }, [file]);
  return read?.of === file ? read?.pixels : undefined;
}
