// The report and the idle time of devices: what `kymo report --json` says.

import type { App } from '../app';
import { fileName } from '../core/protocol';
import { count, duration, percent } from '../core/units';
import { wholeSpan } from '../core/viewport';
import { css } from '../timeline/palette';
import { useAnswer } from './hooks';
import { Answer, Bar, Swatch, Table } from './parts';
import { exactly } from '../core/names';
import { evidenceOf } from './evidence';

interface HostRow {
  name: string;
  self_ns: number;
  total_ns: number;
  count: number;
  longest_ns: number;
}
export interface DeviceReport {
  name: string;
  window_ns: number;
  compute_ns: number;
  exposed_communication_ns: number;
  exposed_copies_ns: number;
  idle_ns: Record<string, number>;
  operations: number;
  longest: Array<{ name: string; kind: string; count: number; total_ns: number; longest_ns: number }>;
  host_during_late_launches?: HostRow[];
}
export interface Report {
  window_ns: number;
  events: number;
  duration_ns: number;
  iterations: { source: string; name: string; thread: string; count: number; median_ns: number; shortest_ns: number; longest_ns: number; list: Array<{ start_ns: number; duration_ns: number }> };
  parts: Array<{ name: string; ns: number }>;
  devices: DeviceReport[];
  host: HostRow[];
  memory?: { peak_bytes: number; peak_after_ns: number; end_bytes: number; at_peak: Array<{ range: string; bytes: number }> };
  functions?: Array<{ function: string }>; // of CPU samples
  findings: Finding[];
}
export interface Finding {
  text: string;
  saves_ns: number;
  evidence: string[];
  command: string;
  record?: string;
}

export function fileOfFocus(app: App): number {
  return app.track(app.event?.track ?? app.focus ?? -1)?.file ?? 0;
}

export function useReport(app: App, file: number) {
  return useAnswer<Report>(`report ${file}`, (signal) => app.client.report(file, signal) as Promise<Report>);
}

export function ReportPanel({ app }: { app: App }) {
  const file = fileOfFocus(app);
  const pending = useReport(app, file);
  return (
    <Answer pending={pending}>
      {(report) => (
        <div class="columns">
          <section>
            <h2>{fileName(app.trace!.files[file])}</h2>
            <dl>
              <dt>Events</dt>
              <dd>{count(report.events ?? 0)}</dd>
              <dt>Duration</dt>
              <dd>{duration(report.duration_ns)}</dd>
              {report.iterations?.count > 1 && (
                <>
                  <dt>Iterations</dt>
                  <dd>{`${count(report.iterations.count)}, median ${duration(report.iterations.median_ns)} (${duration(report.iterations.shortest_ns)} to ${duration(report.iterations.longest_ns)})`}</dd>
                </>
              )}
            </dl>
            <Parts app={app} parts={report.parts ?? []} whole={report.window_ns} />
          </section>
          <section>
            <h3>Findings</h3>
            {(report.findings ?? []).length === 0 && <p class="hint">None.</p>}
            {(report.findings ?? []).map((finding) => (
              <div class="finding">
                <button title={`show the evidence; in a terminal: ${finding.command}`} onClick={() => void showEvidence(app, file, finding, report)}>
                  {finding.text} {finding.saves_ns > 0 && <small>{`saves at most ${duration(finding.saves_ns)}`}</small>}
                  {finding.evidence.map((line) => <span>{line}</span>)}
                </button>
                {finding.record && <p class="hint">{`To know more, record ${finding.record}`}</p>}
              </div>
            ))}
          </section>
          {longest(report).length > 0 && <section class="wide">
            <h3>Longest operations</h3>
            <Table
              rows={longest(report)}
              sort={3}
              choose={(row) => void app.find(exactly(row.name), false)}
              columns={[
                { title: 'Name', wide: true, text: (r) => <><Swatch name={r.name} app={app} />{r.name}</>, value: (r) => r.name },
                { title: 'Where', text: (r) => r.where, value: (r) => r.where },
                { title: 'Count', text: (r) => count(r.count), value: (r) => r.count },
                { title: 'Time', text: (r) => duration(r.total_ns), value: (r) => r.total_ns },
              ]}
            />
          </section>}
        </div>
      )}
    </Answer>
  );
}

/** Goes to the evidence, and selects it. Of a name, that is its longest range. */
async function showEvidence(app: App, file: number, finding: Finding, report: Report): Promise<void> {
  const evidence = evidenceOf(finding.command, report.functions ?? []);
  const shift = app.shiftOf(file);
  const tracks = app.trace!.tracks.filter((track) => track.file === file).map((track) => track.id);
  if (evidence === 'totals') {
    app.show(wholeSpan(app.duration));
    return app.select({ from: shift, to: app.trace!.files[file].duration_ns + shift, tracks });
  }
  if ('search' in evidence) return app.findLongest(evidence.search);
  const span = { from: evidence.span.from + shift, to: evidence.span.to + shift };
  const margin = (span.to - span.from) * 0.1;
  app.show({ from: span.from - margin, to: span.to + margin });
  return app.select({ ...span, tracks }, false);
}

/** The operations of devices and the ranges of the host; none if the program was only sampled. */
function longest(report: Report): Array<{ name: string; where: string; count: number; total_ns: number }> {
  return [...(report.devices ?? []).flatMap((d) => d.longest.map((o) => ({ name: o.name, where: d.name, count: o.count, total_ns: o.total_ns }))), ...(report.host ?? []).map((h) => ({ name: h.name, where: 'host', count: h.count, total_ns: h.self_ns }))];
}

function Parts({ app, parts, whole }: { app: App; parts: Array<{ name: string; ns: number }>; whole: number }) {
  const shown = parts.filter((part) => part.ns > 0);
  const colour = (i: number) => css(app.theme.colours[i % 16]);
  return (
    <>
      <Bar whole={whole} parts={shown.map((part, i) => ({ name: part.name, value: part.ns, colour: colour(i), text: duration(part.ns) }))} />
      <ul class="legend">
        {shown.map((part, i) => (
          <li>
            <i class="swatch" style={{ background: colour(i) }} />
            <span>{part.name}</span>
            <b>{duration(part.ns)}</b>
            <small>{percent(part.ns, whole)}</small>
          </li>
        ))}
      </ul>
    </>
  );
}

export function Idle({ app }: { app: App }) {
  const file = fileOfFocus(app);
  const pending = useAnswer<{ devices?: DeviceReport[] }>(`idle ${file}`, (signal) => app.client.idle(file, signal) as Promise<{ devices?: DeviceReport[] }>);
  return (
    <Answer pending={pending}>
      {(answer) =>
        (answer.devices ?? []).length === 0 ? (
          <p class="hint">No work of a device in this trace.</p>
        ) : (
          <div class="columns">
            {answer.devices!.map((device) => (
              <section>
                <h2>{device.name}</h2>
                <Parts
                  app={app}
                  whole={device.window_ns}
                  parts={[
                    { name: 'computes', ns: device.compute_ns },
                    { name: 'communication that nothing hides', ns: device.exposed_communication_ns },
                    { name: 'copies that nothing hides', ns: device.exposed_copies_ns },
                    ...Object.entries(device.idle_ns ?? {}).map(([cause, ns]) => ({ name: `idle: ${cause}`, ns })),
                  ]}
                />
                {device.host_during_late_launches?.length ? (
                  <>
                    <h3>What the host did while the device waited for a launch</h3>
                    <Table
                      rows={device.host_during_late_launches}
                      sort={1}
                      choose={(row) => void app.find(exactly(row.name), false)}
                      columns={[
                        { title: 'Name', wide: true, text: (r) => r.name, value: (r) => r.name },
                        { title: 'Self', text: (r) => duration(r.self_ns), value: (r) => r.self_ns },
                        { title: 'Count', text: (r) => count(r.count), value: (r) => r.count },
                      ]}
                    />
                  </>
                ) : null}
              </section>
            ))}
          </div>
        )
      }
    </Answer>
  );
}
