"""
What can be around an expression: templates with one hole, by what they need.

The diamond is the hole, and the number sign is replaced by a fresh name.
"""

from typing import Final

HOLE: Final = "\N{LOZENGE}"
NAME: Final = "\N{NUMERO SIGN}"

EXPRESSIONS: Final = (
    "(◊)",
    "(a?b:◊)",
    "[◊][0]",
    "({a:◊})",
    "({a(){return (◊)}})",
    "(()=>(◊))",
    "(async()=>await (◊))",
    "(async()=>{for await(const x of [◊])x()})",
    "(function*(){yield {}\n;yield*[◊]})",
    "(({x=(◊)})=>x)",
    "(({[(◊)]:x})=>x)",
    "f(◊)",
    "a?.b[◊]",
    "new (f(◊))",
    "`a${◊}b`",
    "f`${◊}`",
    "(◊)`x`",
    "(a??(◊))",
    "(a <(◊)>/b/g)",
    "(a in(◊))",
    "(a++/(◊)/b)",
    "(/[/]\\/'/.test(◊))",
    "(/a/g/(◊))",
    "({}/(◊)/g)",
    "f(class{static{f(◊)}})",
    "f(class{#a=(◊)})",
    "f(class{static async*a(x=(◊)){}})",
    "(function(){new.target;f(◊)})",
    "import.meta[(◊)]",
)
EXPRESSIONS_TYPED: Final = (
    "(◊ as any)",
    "(◊ satisfies any)",
    "(◊)!",
    "(f<any>(◊))",
    "(f<(a)&&(◊)&&b>(z))",
    "((x: any):any=>(◊))",
    "(async <T,>(x: T)=>(◊))",
    "f(class<in out T>{declare a: T;private readonly b=(◊)})",
    "f(class{constructor(private a=(◊)){}})",
    "f(class extends f<any>implements G<any>{static accessor a = (◊)})",
    "(()=>{enum №{A=(◊ as any)}})",
    "(()=>{type №=typeof a\n;f(◊)})",
    "(a ? (b):(◊) : 1)",
)
EXPRESSIONS_ANGLED: Final = ("(<any>(◊))", "(<T>(x: T)=>(◊))")
EXPRESSIONS_MARKUP: Final = (
    "<b>{◊}</b>",
    "<b a={◊}/>",
    "<>it's {/* } */ ◊} a</>",
    '<A.B c-d="&quot;" e={<i>{◊}</i>}/>',
    "<svg:a>// {◊} /* </svg:a>",
    "(a<b,<i>{◊}</i>)",
)
EXPRESSIONS_MARKUP_TYPED: Final = ("<A<any> b={◊}/>", "(<T extends any>(x: T)=>(◊))")

STATEMENTS: Final = (
    "f(◊)\n",
    "void (◊);",
    "const №=◊;",
    "if(◊)a;else b;",
    "do a();while(◊);",
    "for(;◊;)a()\n",
    "for(const x of[◊])x()\n",
    "№:for(;;){f(◊);break №}",
    "switch(a){case(◊):b()}",
    "try{a()}catch({ x = (◊) }){x()}finally{}",
    "{}/a/.test(◊)\n",
    "function №(){return ◊}№()\n",
    "function*№(){yield(◊)}№()\n",
    "async function №(){ await (◊) }№()\n",
    "async function №(){ await using x = (◊)\nx() }№()\n",
    "class №{static a=(◊)}",
    "class №{a=1\n;[(◊)](){}}",
    "class № extends (f(◊)){}",
    "@(f(◊))\nclass №{}",
    "class №{@(f(◊))static accessor a=1}",
    "a\n/b/g\n;f(◊)\n",
    "let №=a\n/(◊)/g\n",
    "if(a)throw (a, (◊));",
    "'use strict'\n;(◊)\n",
    "(a)=>{}\n;/f/g\n;(◊)\n",
)
STATEMENTS_TYPED: Final = (
    "{}as(◊)\n",
    "enum №{A=(◊ as any),B='x'}",
    "const enum №{A=1}f(◊)\n",
    "namespace №{export const a=(◊)}",
    "namespace №{namespace B {f(◊)}}",
    "type /**/№=typeof a\n[(◊)]\n",
    "interface №<in T,out U>{new(): T}\n/a/.test(◊)\n",
    "declare const №: any\n;(◊)\n",
    "let №!: a<b>\n/c/.test(◊)\n",
    "let №=a as b<c>\n(◊)\n",
    "let № = a satisfies b\n`${(◊)}`\n",
    "class №{static a?: b\n['c'] = (◊)}",
    "class №{@(f(◊))private a?: any}",
    "type\n№=(◊)\n",
)
STATEMENTS_ANGLED: Final = ("<any>(◊)\n",)
STATEMENTS_MODULE: Final = (
    "export const №=◊;",
    "export default class{static a = (◊)}",
    "import{y as №}from'./x'\n;№(◊)\n",
    "import*as № from'./x'\n;№.y(◊)\n",
    "export*from'./x'\n;f(◊)\n",
    "export{y}from'./x'\n;f(◊)\n",
)
STATEMENTS_MODULE_TYPED: Final = (
    "import type{Y}from'./x'\n;(◊)\n",
    "import{type Y,y as №}from'./x'\n;№(◊)\n",
    "export import №=a.b\n;f(◊)\n",
)
STATEMENTS_COMMON: Final = (
    "module.exports=◊\n",
    "exports.№=◊\n",
    "<!-- it's\nf(◊)\n",
    "\n--> it's\nf(◊)\n",
)

STARTS: Final = ("", "", "", "'use strict';\n", "\ufeff", "// @ts-nocheck\n")
HASHBANG: Final = "#!/usr/bin/env node 'eval\n"

INERT: Final = (
    "/* eval(x) <script */",
    "// window.fetch('x'",
    "const № = 'fetch window.eval';",
    "f(a.fetch(b), a?.window, a['eval'], a.Function);",
    "function №(window, { self }) { return window.x + self.y }№(a, b);",
    "class № { fetch() { return this.window } #eval = 1 }",
    "try { a() } catch (self) { self.x() }",
    "f(d.createElement('div'), setTimeout(() => {}, 1));",
    "if (a.innerHTML == b) f(a.innerHTML);",
    "f(document.title, location.pathname, Reflect.has(a, 'b'));",
    "(function (top, parent) { return top[0] + parent.location })(a, b);",
)
"""Statements without any listed construct, which look as if they had one."""

INERT_TYPED: Final = (
    "type № = typeof fetch | Window | Function;",
    "declare const №: typeof globalThis;",
    "let №: WebSocket | undefined;",
    "namespace № { export type fetch = 1 }",
)
