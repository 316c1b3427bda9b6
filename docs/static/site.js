/* The site's only script: copying, Figure 1, and the two explorers. It loads the details of runs, no more. */
(function () {
  "use strict";
  var SVG = "http://www.w3.org/2000/svg";

  function make(tag, attributes, content) {
    var space = /^(svg|g|path|line|text|circle|title)$/.test(tag) ? SVG : null;
    var element = space ? document.createElementNS(space, tag) : document.createElement(tag);
    Object.keys(attributes || {}).forEach(function (name) {
      if (attributes[name] !== null && attributes[name] !== undefined) element.setAttribute(name, attributes[name]);
    });
    [].concat(content === undefined ? [] : content).forEach(function (part) {
      element.append(part);
    });
    return element;
  }

  /* ---- buttons that copy a command; those of code blocks are sphinx-copybutton's ---- */
  function copying() {
    document.addEventListener("click", function (event) {
      var button = event.target.closest("[data-copy]");
      if (!button || !navigator.clipboard) return;
      navigator.clipboard.writeText(button.dataset.copy).then(function () {
        var before = button.textContent;
        button.textContent = "Copied";
        setTimeout(function () { button.textContent = before; }, 1200);
      }, function () {});
    });
  }

  /* ---- one tooltip for the page ---- */
  var tip = null;
  function show(text, x, y) {
    if (!tip) { tip = make("div", { class: "pf-tip", role: "status" }); document.querySelector(".pf").append(tip); }
    tip.textContent = text;
    tip.hidden = false;
    tip.style.left = Math.min(x + 12, innerWidth - 250) + "px";
    tip.style.top = (y > innerHeight - 120 ? y - 90 : y + 14) + "px";
  }
  function hide() { if (tip) tip.hidden = true; }

  /* ---- a paper's numbers ---- */
  function strip(svg) {
    var tips = JSON.parse(document.getElementById(svg.dataset.tips).textContent);
    var marks = [].slice.call(svg.querySelectorAll("[data-k]")), at = -1;
    function leave() { if (marks[at]) marks[at].classList.remove("on"); hide(); }
    function go(to) {
      leave();
      at = to;
      var box = marks[at].getBoundingClientRect();
      marks[at].classList.add("on");
      show(tips[marks[at].dataset.k], box.right, box.bottom);
    }
    marks.forEach(function (mark, i) {
      mark.addEventListener("pointerenter", function () { go(i); });
      mark.addEventListener("pointerleave", leave);
    });
    svg.addEventListener("keydown", function (event) {
      var step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      go(at < 0 && step < 0 ? marks.length - 1 : (at + step + marks.length) % marks.length);
    });
    svg.addEventListener("blur", leave);
    addEventListener("scroll", function () { if (marks[at] && marks[at].classList.contains("on")) go(at); }, { passive: true });
  }

  /* ---- figures that are wider than the screen ---- */
  function scrolling(frame, what) {
    var hint = make("p", { class: "pf-hint", "aria-hidden": "true" }, "Scroll sideways to see the whole " + what + " →");
    function look() { hint.hidden = frame.scrollWidth <= frame.clientWidth + 1; }
    frame.before(hint);
    new ResizeObserver(look).observe(frame);
    look();
  }

  /* ---- Figure 1 ---- */
  var W = 380, H = 300, L = 56, R = 12, T = 26, B = 36, FAR = 0.1;

  function ticks(low, high) {
    var step = Math.pow(10, Math.floor(Math.log10((high - low) / 3)));
    step *= [5, 2, 1].find(function (m) { return (high - low) / (step * m) >= 3; }) || 1;
    var found = [];
    for (var i = Math.ceil(low / step); i * step <= high + 1e-9; i++) found.push(i * step);
    var digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
    return found.map(function (v) { return { at: v, text: v.toFixed(digits) }; });
  }

  var SHAPES = {
    o: "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0", s: "M-3.6-3.6h7.2v7.2h-7.2z", "^": "M0-4.6l4.4 8h-8.8z", v: "M0 4.6l4.4-8h-8.8z",
    D: "M0-4.8l4.8 4.8-4.8 4.8-4.8-4.8z", d: "M0-5l3.4 5-3.4 5-3.4-5z", P: "M-1.6-4.6h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3z",
    "*": "M0-6.5l1.6 4.3 4.6.2-3.6 2.9 1.2 4.4L0 2.8l-3.8 2.5 1.2-4.4-3.6-2.9 4.6-.2z"
  };

  function panel(data, own, on, published) {
    var points = own.points.filter(function (p) { return on[p.s] && (published || !p.p); });
    var all = points.length ? points : own.points;
    function range(i) {  /* intervals included, which stand behind their mean */
      var values = [];
      all.forEach(function (p) { values = values.concat(p.v.slice(i, p.p ? i + 1 : i + 3)); });
      values = values.filter(function (v) { return v !== null; });
      var low = Math.min.apply(null, values), high = Math.max.apply(null, values);
      var pad = (high - low || 0.02) * 0.08;
      return [low - pad, high + pad];
    }
    var xr = range(0), yr = range(3);
    function X(v) { return L + (W - L - R) * (v - xr[0]) / (xr[1] - xr[0]); }
    function Y(v) { return H - B - (H - B - T) * (v - yr[0]) / (yr[1] - yr[0]); }
    var svg = make("svg", { viewBox: "0 0 " + W + " " + H, tabindex: 0, role: "img", "aria-label": own.title + ": accuracy against fairness. Arrow keys move from point to point." });
    svg.append(make("text", { x: L, y: 16, class: "name" }, own.title));
    ticks(xr[0], xr[1]).forEach(function (v) {
      svg.append(make("line", { x1: X(v.at), x2: X(v.at), y1: T, y2: H - B, class: "grid" }), make("text", { x: X(v.at), y: H - B + 13, "text-anchor": "middle" }, v.text));
    });
    ticks(yr[0], yr[1]).forEach(function (v) {
      svg.append(make("line", { x1: L, x2: W - R, y1: Y(v.at), y2: Y(v.at), class: "grid" }), make("text", { x: L - 5, y: Y(v.at) + 4, "text-anchor": "end" }, v.text));
    });
    svg.append(make("text", { x: (L + W - R) / 2, y: H - 6, "text-anchor": "middle" }, "fairness on I (1 = parity)"));
    svg.append(make("text", { x: -(T + H - B) / 2, y: 11, transform: "rotate(-90)", "text-anchor": "middle" }, "test accuracy"));
    var star = own.points.find(function (p) { return !p.p && p.k === "inf"; });
    data.series.forEach(function (series, s) {
      if (!on[s]) return;
      var path = own.points.filter(function (p) { return p.s === s && !p.p; });
      path.sort(function (a, b) { return (parseFloat(b.k) - parseFloat(a.k)) * (series.up ? -1 : 1); });
      if (star && path[0] !== star) path.unshift(star);
      for (var i = 1; i < path.length; i++) {
        var a = path[i - 1].v, b = path[i].v;
        svg.append(make("line", { x1: X(a[0]), y1: Y(a[3]), x2: X(b[0]), y2: Y(b[3]), style: "stroke:" + series.tone, "stroke-width": 1.5, "stroke-dasharray": Math.abs(a[0] - b[0]) > FAR ? "1.5 4" : null }));
      }
    });
    var marks = points.slice().sort(function (a, b) { return b.p - a.p; }).map(function (p) {
      var series = data.series[p.s], v = p.v, x = X(v[0]), y = Y(v[3]);
      if (v[4] !== null && !p.p) svg.append(make("line", { x1: x, x2: x, y1: Y(v[4]), y2: Y(v[5]), style: "stroke:" + series.tone, opacity: 0.55 }));
      if (v[1] !== null && !p.p) svg.append(make("line", { x1: X(v[1]), x2: X(v[2]), y1: y, y2: y, style: "stroke:" + series.tone, opacity: 0.55 }));
      var words = series.label + (p.p ? ", published" : p.k === "inf" ? "" : ", " + (series.up ? "weight " : "κ ") + p.k) + "\nfairness " + v[0] + (v[1] === null ? "" : " [" + v[1] + ", " + v[2] + "]") +
        "\naccuracy " + v[3] + (v[4] === null ? "" : " [" + v[4] + ", " + v[5] + "]") + (p.p ? "\nTable 3 of the paper" : "\n" + p.n + " seeds of " + own.experiment + "/" + own.dataset + (p.m ? "\nconstraint exceeded on training rows: " + p.m + " of " + p.n + " seeds" : ""));
      var mark = make("path", { d: SHAPES[series.marker] || SHAPES.o, transform: "translate(" + x + " " + y + ")" + (p.p ? " scale(1.5)" : ""), style: (p.p ? "fill:none;stroke:" : p.m ? "fill:var(--card);stroke:" : "stroke:none;fill:") + series.tone, "stroke-width": p.p ? 1.1 : 1.5 });
      mark.addEventListener("pointerenter", function (e) { show(words, e.clientX, e.clientY); });
      mark.addEventListener("pointerleave", hide);
      svg.append(mark);
      return { mark: mark, words: words, x: x };
    });
    marks.sort(function (a, b) { return a.x - b.x; });
    var at = -1;
    svg.addEventListener("keydown", function (event) {
      if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
      event.preventDefault();
      at = (at + (event.key === "ArrowRight" ? 1 : marks.length - 1) + (at < 0 && event.key === "ArrowLeft" ? 1 : 0)) % marks.length;
      var box = marks[at].mark.getBoundingClientRect();
      show(marks[at].words, box.right, box.bottom);
    });
    svg.addEventListener("blur", hide);
    return svg;
  }

  function frontier(host) {
    var data = JSON.parse(document.getElementById(host.dataset.src).textContent);
    var on = data.series.map(function (s) { return !s.off; }), published = true;
    var names = Object.keys(data.experiments), chosen = names[0];
    var bar = make("div", { class: "pf-legend", role: "group", "aria-label": "What the figure shows" });
    var panels = make("div", { class: "pf-panels" });
    function draw() {
      panels.replaceChildren.apply(panels, data.panels.filter(function (p) { return p.experiment === chosen; }).map(function (p) { return panel(data, p, on, published); }));
    }
    function toggle(label, get, set, swatch) {
      var button = make("button", { type: "button", "aria-pressed": String(get()) });
      if (swatch) button.append(make("span", { class: "swatch", style: "background:" + swatch }));
      button.append(label);
      button.addEventListener("click", function () { set(!get()); refresh(); draw(); });
      bar.append(button);
      return function () { button.setAttribute("aria-pressed", String(get())); };
    }
    var all = names.map(function (name) {
      return toggle(data.experiments[name], function () { return chosen === name; }, function () { chosen = name; });
    });
    data.series.forEach(function (s, i) {
      all.push(toggle(s.label + (s.off ? " (not in the paper)" : ""), function () { return on[i]; }, function (v) { on[i] = v; }, s.tone));
    });
    all.push(toggle("Published points", function () { return published; }, function (v) { published = v; }));
    function refresh() { all.forEach(function (f) { f(); }); }
    draw();
    host.replaceChildren(bar, panels);
  }

  /* ---- explorers ---- */
  var CHUNK = 50;

  function explorer(host) {
    var name = host.dataset.name, root = host.dataset.root, data = (window.partialfair || {})[name];
    if (!data) return;
    var columns = data.columns.filter(function (c) { return !c.later; }).concat(data.columns.filter(function (c) { return c.later; }));
    var rows = data.rows.map(function (row) { return row.map(function (v) { return typeof v === "number" ? data.words[v] : v[0]; }); });
    var texts = rows.map(function (row) { return row.join(" ").toLowerCase(); });
    var place = {};
    columns.forEach(function (c, i) { place[c.key] = i; });
    var facets = columns.filter(function (c) { return c.facet; });
    var visible = columns.filter(function (c) { return !c.detail && !c.hidden; });
    var state = { q: "", sort: "", chosen: {} }, shown = CHUNK, open = {};

    function read() {
      state = { q: "", sort: "", chosen: {} };
      new URLSearchParams(location.hash.slice(1)).forEach(function (value, key) {
        if (key === "q" || key === "sort") state[key] = value;
        else if (place[key] !== undefined) (state.chosen[key] = state.chosen[key] || []).push(value);
      });
    }
    function write() {
      var found = new URLSearchParams();
      Object.keys(state.chosen).forEach(function (key) { state.chosen[key].forEach(function (v) { found.append(key, v); }); });
      if (state.q) found.set("q", state.q);
      if (state.sort) found.set("sort", state.sort);
      history.replaceState(null, "", "#" + found);
    }
    function keeps(row, i, but) {
      return facets.every(function (f) {
        var chosen = state.chosen[f.key];
        return f.key === but || !chosen || !chosen.length || chosen.indexOf(String(row[place[f.key]])) >= 0;
      }) && state.q.toLowerCase().split(/\s+/).every(function (word) { return texts[i].indexOf(word) >= 0; });
    }

    var side = make("div", { class: "pf-facets" }), main = make("div", { class: "pf-main" });
    var search = make("input", { type: "search", placeholder: "Any text", "aria-label": "Any text" });
    var status = make("p", { class: "pf-soft", role: "status" });
    var clear = make("button", { type: "button" }, "Clear all");
    var table = make("table"), more = make("button", { type: "button" }, "Show more");
    var boxes = {};
    side.append(search, clear);
    facets.forEach(function (f, k) {
      var inner = make("div", { class: "values" }), values = [];
      rows.forEach(function (row) { var v = String(row[place[f.key]]); if (v && values.indexOf(v) < 0) values.push(v); });
      var ranks = f.tone ? Object.keys(f.tone) : [];
      values.sort(function (a, b) { return f.tone ? ranks.indexOf(a) - ranks.indexOf(b) : a.localeCompare(b, "en", { numeric: true }); });
      boxes[f.key] = values.map(function (v) {
        var box = make("input", { type: "checkbox" }), count = make("span");
        var label = make("label", {}, [box, make("span", {}, v.replace(/_/g, "_\u200b")), count]);
        box.addEventListener("change", function () {
          var list = state.chosen[f.key] = (state.chosen[f.key] || []).filter(function (x) { return x !== v; });
          if (box.checked) list.push(v);
          change();
        });
        inner.append(label);
        return { value: v, box: box, count: count, label: label };
      });
      var details = make("details", k < 2 && innerWidth > 900 ? { open: "" } : {}, [make("summary", {}, f.key), inner]);
      boxes[f.key].details = details;
      side.append(details);
    });

    function count() {
      facets.forEach(function (f) {
        var found = {};
        rows.forEach(function (row, i) { if (keeps(row, i, f.key)) { var v = String(row[place[f.key]]); found[v] = (found[v] || 0) + 1; } });
        boxes[f.key].forEach(function (b) {
          var n = found[b.value] || 0;
          b.count.textContent = n;
          b.label.className = n ? "" : "zero";
          b.box.checked = (state.chosen[f.key] || []).indexOf(b.value) >= 0;
        });
        if ((state.chosen[f.key] || []).length) boxes[f.key].details.open = true;
      });
    }
    function order(list) {
      if (!state.sort) return list;
      var down = state.sort[0] === "-", c = place[state.sort.replace(/^-/, "")];
      if (c === undefined) return list;
      function value(i) {  /* a number where there is one: the first, or of some columns the last */
        var v = rows[i][c];
        if (typeof v === "number") return v;
        var numbers = v.replace(/(\d),(?=\d{3})/g, "$1").match(columns[c].last ? /[-+]?\d[\d.]*(?:e[-+]?\d+)?$/ : /^[-+]?\.?\d[\d.]*(?:e[-+]?\d+)?/);
        return numbers ? parseFloat(numbers[0]) : v === "" || v === "–" ? null : v;
      }
      return list.slice().sort(function (a, b) {
        var x = value(a), y = value(b);
        if (x === null || y === null) return (x === null) - (y === null);
        if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;  /* words last, in either direction */
        var d = x < y ? -1 : x > y ? 1 : 0;
        return down ? -d : d;
      });
    }
    function brief(v) { return v && Math.abs(v) < 1e-3 ? v.toExponential().replace("e-0", "e-") : String(v); }
    function cell(c, row) {
      var v = row[place[c.key]], td = make("td", c.number ? { class: "num" } : {});
      if (c.tone) td.append(make("span", { class: "pf-chip " + (c.tone[v] || "none") }, v));
      else if (c.link && row[place.page]) td.append(make("a", { href: root + c.link.replace("{page}", row[place.page]) }, v));
      else td.textContent = typeof v === "number" ? brief(v) : v;
      return td;
    }
    function grid(titles, text) {
      function line(tag, cells) { return make("tr", {}, cells.map(function (v) { return make(tag, {}, v); })); }
      return make("table", { class: "pf-seeds" }, [make("thead", {}, line("th", titles))].concat(
        make("tbody", {}, text.split("\n").map(function (row) { return line("td", row.replace(/\|\./g, "|0.").split("|")); }))));
    }
    function curve(points, column, title) {  /* one quantity of a trace against its steps, which are drawn as log(1 + step) */
      var xs = points.map(function (p) { return Math.log1p(p[0]); }), ys = points.map(function (p) { return p[column]; });
      var low = Math.min.apply(null, ys), high = Math.max.apply(null, ys), end = points[points.length - 1];
      var path = xs.map(function (x, i) { return (i ? "L" : "M") + (4 + 292 * x / xs[xs.length - 1]).toFixed(1) + " " + (88 - 80 * (ys[i] - low) / (high - low || 1)).toFixed(1); }).join("");
      var words = title + " against inner steps, 0 to " + end[0] + " (logarithmic): from " + points[0][column] + " to " + end[column] + "; between " + low + " and " + high;
      return make("figure", {}, [make("svg", { viewBox: "0 0 300 92", role: "img", "aria-label": words }, make("path", { d: path })), make("figcaption", {}, words)]);
    }
    function trace(c, row) {
      var file = c.trace.replace(/\{(\w+)\}/g, function (_, key) { return row[place[key]]; }), text = row[place[c.key]].trim();
      var points = text ? text.split(" ").map(function (p) { return p.split(",").map(Number); }) : [];
      return make("span", { class: "pf-trace" }, [
        points.length ? "Some of the steps of one seed; all are in " : "This site holds no trace of it. Training writes one to ", make("code", {}, file), ". The repository does not hold that folder, nor those of the other seeds."
      ].concat(points.length ? [make("br"), curve(points, 1, "Loss"), curve(points, 2, "Infeasibility")] : []));
    }
    function pages(c, row) {
      return make("span", {}, row[place[c.key]].split(", ").map(function (name) { return make("a", { href: root + c.pages.replace("{page}", name) }, name + " "); }));
    }
    function complete(row, then, fail) {  /* what the row's experiment holds in a script of its own */
      if (row.length === columns.length) return then();
      var part = row[place[data.part]], file = "data/" + name + "/" + part + ".js", script = make("script", { src: root + file });
      script.addEventListener("load", function () {
        var lines = window.partialfair[name + "/" + part].slice();
        rows.forEach(function (own) {
          if (own[place[data.part]] === part) { var line = lines.shift(); if (own.length < columns.length) own.push.apply(own, line); }
        });
        then();
      });
      script.addEventListener("error", function () { fail(file + " could not be read."); });
      document.head.append(script);
    }
    function detail(row) {
      var td = make("td", { colspan: visible.length }, "…");
      complete(row, function () {
        var parts = data.columns.filter(function (c) { return c.detail && row[place[c.key]]; }).map(function (c) {
          var v = row[place[c.key]];
          return make("div", {}, [make("strong", {}, c.key + ": "), c.table ? grid(c.table, v) : c.trace ? trace(c, row) : c.pages ? pages(c, row) : String(v)]);
        });
        td.replaceChildren.apply(td, parts.length ? parts : ["Nothing further is recorded."]);
      }, function (words) { td.textContent = words; });
      return make("tr", { class: "detail" }, td);
    }
    function draw() {
      var list = order(rows.map(function (_, i) { return i; }).filter(function (i) { return keeps(rows[i], i); }));
      status.textContent = list.length + " of " + rows.length + " rows";
      var head = make("tr", {}, visible.map(function (c) {
        var mark = state.sort === c.key ? " ▲" : state.sort === "-" + c.key ? " ▼" : "";
        var button = make("button", { type: "button", title: c.title || "Sort by " + c.key }, c.key + mark);
        button.addEventListener("click", function () {
          state.sort = state.sort === c.key ? "-" + c.key : c.key;
          change();
          table.querySelectorAll("thead button")[visible.indexOf(c)].focus();  /* the headings are new */
        });
        return make("th", { scope: "col", "aria-sort": mark ? (mark === " ▲" ? "ascending" : "descending") : null }, button);
      }));
      var body = make("tbody");
      list.slice(0, shown).forEach(function (i) {
        var tr = make("tr", { class: "row", tabindex: 0, "aria-expanded": String(!!open[i]) }, visible.map(function (c) { return cell(c, rows[i]); }));
        function flip(event) {
          if (event.target.closest("a") || (event.key && event.key !== "Enter")) return;
          open[i] = !open[i];
          tr.setAttribute("aria-expanded", String(open[i]));
          if (open[i]) tr.after(detail(rows[i])); else tr.nextSibling.remove();
        }
        tr.addEventListener("click", flip);
        tr.addEventListener("keydown", flip);
        body.append(tr);
        if (open[i]) body.append(detail(rows[i]));
      });
      table.replaceChildren(make("thead", {}, head), body);
      more.hidden = list.length <= shown;
      search.value = state.q;
      count();
    }
    function change() { shown = CHUNK; open = {}; write(); draw(); }
    search.addEventListener("input", function () { state.q = search.value; change(); });
    clear.addEventListener("click", function () { state = { q: "", sort: "", chosen: {} }; change(); });
    more.addEventListener("click", function () { shown += 4 * CHUNK; draw(); });
    window.addEventListener("hashchange", function () { read(); shown = CHUNK; open = {}; draw(); });
    var frame = make("div", { class: "pf-rows", tabindex: 0, role: "region", "aria-label": "Rows" }, table);
    main.append(status, frame, more);
    read();
    draw();
    host.replaceChildren(make("div", { class: "pf-explore" }, [side, main]));
    scrolling(frame, "table");
  }

  document.addEventListener("DOMContentLoaded", function () {
    copying();
    document.querySelectorAll(".pf .figure").forEach(function (frame) { scrolling(frame, "figure"); });
    document.querySelectorAll("article p > img[src$='.svg']").forEach(function (picture) {
      var frame = picture.parentElement;
      frame.tabIndex = 0;
      frame.setAttribute("role", "region");
      frame.setAttribute("aria-label", picture.alt);
      scrolling(frame, "figure");
    });
    document.querySelectorAll(".pf-strip").forEach(strip);
    document.querySelectorAll(".pf-frontier").forEach(frontier);
    document.querySelectorAll(".pf-explorer").forEach(explorer);
  });
}());
