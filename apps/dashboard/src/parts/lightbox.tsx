import { ActionIcon, Box, Group, Modal, Text } from '@mantine/core';
import { useLayoutEffect, useRef, useState, type KeyboardEvent } from 'react';
import { IconChevronLeft, IconChevronRight, IconZoomIn, IconZoomOut, IconZoomReset } from '@tabler/icons-react';

/** Zoom factors relative to the window. */
const ZOOMS = [1, 1.5, 2, 3, 4, 6];

interface LightboxProps {
  readonly images: readonly { readonly url: string; readonly alt: string }[];
  /** The shown image; null: closed. */
  readonly index: number | null;
  readonly onIndex: (index: number) => void;
  readonly onClose: () => void;
}

/** Shows images in full size: + and - zoom, arrow keys switch images, Escape closes. */
export function Lightbox({ images, index, onIndex, onClose }: LightboxProps) {
  return (
    <Modal
      opened={index !== null}
      onClose={onClose}
      fullScreen
      padding="sm"
      radius={0}
      title={index === null || images.length < 2 ? 'Image' : `Image ${index + 1} of ${images.length}`}
      classNames={{ body: 'lightbox-body', content: 'lightbox' }}
    >
      {index !== null && <Viewer images={images} index={index} onIndex={onIndex} />}
    </Modal>
  );
}

function Viewer({ images, index, onIndex }: Omit<LightboxProps, 'index' | 'onClose'> & { readonly index: number }) {
  const [step, setStep] = useState(0);
  const view = useRef<HTMLDivElement>(null);
  const middle = useRef({ x: 0.5, y: 0.5 });
  const zoom = ZOOMS[step] ?? 1;
  const change = (next: number) => setStep(Math.min(ZOOMS.length - 1, Math.max(0, next)));
  const lead = (by: number) => {
    const next = index + by;
    if (next < 0 || next >= images.length) return;
    setStep(0);
    onIndex(next);
  };
  // Keeps the center of the view.
  useLayoutEffect(() => {
    const box = view.current;
    if (box === null) return;
    box.scrollTo({
      left: middle.current.x * box.scrollWidth - box.clientWidth / 2,
      top: middle.current.y * box.scrollHeight - box.clientHeight / 2,
    });
  }, [zoom]);
  const remember = () => {
    const box = view.current;
    if (box === null) return;
    middle.current = {
      x: (box.scrollLeft + box.clientWidth / 2) / box.scrollWidth,
      y: (box.scrollTop + box.clientHeight / 2) / box.scrollHeight,
    };
  };
  const press = (event: KeyboardEvent) => {
    const work: Readonly<Record<string, (() => void) | undefined>> = {
      '+': () => change(step + 1),
      '=': () => change(step + 1),
      '-': () => change(step - 1),
      '0': () => change(0),
      // When zoomed in, arrow keys scroll instead.
      ...(zoom === 1 && images.length > 1 ? { ArrowLeft: () => lead(-1), ArrowRight: () => lead(1) } : {}),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || work[event.key] === undefined) return;
    event.preventDefault();
    work[event.key]?.();
  };
  const image = images[index];
  return (
    <>
      <Box
        ref={view}
        className="lightbox-view"
        tabIndex={0}
        role="group"
        aria-label="Image; zoom with + and -"
        data-autofocus
        onKeyDown={press}
        onScroll={remember}
      >
        <img
          src={image?.url}
          alt={image?.alt ?? ''}
          style={{ width: `${zoom * 100}%`, height: `${zoom * 100}%` }}
          onDoubleClick={() => change(step === 0 ? 2 : 0)}
        />
      </Box>
      <Group justify="center" gap="xs" pt="sm" onKeyDown={press}>
        {images.length > 1 && (
          <Tool
            name="Previous image"
            isOff={index === 0}
            icon={<IconChevronLeft size={18} />}
            onClick={() => lead(-1)}
          />
        )}
        <Tool name="Zoom out" isOff={step === 0} icon={<IconZoomOut size={18} />} onClick={() => change(step - 1)} />
        <Text size="sm" className="numbers" w={52} ta="center" aria-live="polite">
          {zoom * 100}%
        </Text>
        <Tool
          name="Zoom in"
          isOff={step === ZOOMS.length - 1}
          icon={<IconZoomIn size={18} />}
          onClick={() => change(step + 1)}
        />
        <Tool name="Fit to window" isOff={step === 0} icon={<IconZoomReset size={18} />} onClick={() => change(0)} />
        {images.length > 1 && (
          <Tool
            name="Next image"
            isOff={index === images.length - 1}
            icon={<IconChevronRight size={18} />}
            onClick={() => lead(1)}
          />
        )}
      </Group>
    </>
  );
}

interface ToolProps {
  readonly name: string;
  readonly isOff: boolean;
  readonly icon: React.ReactNode;
  readonly onClick: () => void;
}

function Tool({ name, isOff, icon, onClick }: ToolProps) {
  return (
    <ActionIcon variant="default" size="lg" aria-label={name} disabled={isOff} onClick={onClick}>
      {icon}
    </ActionIcon>
  );
}
