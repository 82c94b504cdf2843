//! Synonyms in English and Chinese. One row per concept; the first English word is its name.

/// Concepts: English words, Chinese words.
const CONCEPTS: &[(&[&str], &[&str])] = &[
    (
        &["read", "load", "open", "extract", "import", "cat"],
        &["读取", "读入", "读", "打开", "加载", "提取", "导入"],
    ),
    (&["write", "save", "store", "export"], &["写入", "写", "保存", "存储", "导出"]),
    (
        &["delete", "remove", "drop", "erase", "discard"],
        &["删除", "去除", "去掉", "移除", "剔除", "清除", "丢弃", "删掉", "删"],
    ),
    (
        &["missing", "null", "nan", "empty", "incomplete"],
        &["缺失值", "缺失", "空值", "缺少", "为空", "残缺"],
    ),
    (
        &["list", "show", "display", "enumerate", "view", "ls"],
        &["列出", "显示", "查看", "看看", "列举", "展示"],
    ),
    (
        &["search", "find", "lookup", "seek", "grep"],
        &["搜索", "查找", "检索", "查询", "搜", "查", "找"],
    ),
    (&["add", "append", "insert", "stage"], &["添加", "增加", "追加", "插入", "暂存", "加入"]),
    (&["create", "make"], &["创建", "新建", "建立"]),
    (&["change", "edit", "modify", "update"], &["修改", "更改", "编辑", "更新", "改动"]),
    (&["move", "rename"], &["移动", "重命名"]),
    (&["copy", "duplicate"], &["复制", "拷贝"]),
    (&["send", "post", "mail"], &["发送", "寄", "发给"]),
    (&["compute", "calculate", "evaluate"], &["计算", "求"]),
    (&["convert", "transform"], &["转换", "换算"]),
    (&["translate", "translation"], &["翻译"]),
    (&["optimize", "optimise", "relax"], &["优化"]),
    (&["clean", "cleanse"], &["清洗", "清理"]),
    (&["sort", "order"], &["排序"]),
    (&["filter", "select"], &["筛选", "过滤"]),
    (&["count", "number"], &["数量", "个数", "统计"]),
    (&["commit"], &["提交"]),
    (&["status", "state"], &["状态"]),
    (&["diff", "difference"], &["差异", "区别", "对比"]),
    (&["log", "history"], &["日志", "历史", "记录"]),
    (&["last", "latest", "newest", "recent"], &["最近", "最新", "最后", "上次"]),
    (&["repository", "repo"], &["仓库", "版本库"]),
    (&["branch"], &["分支"]),
    (&["file", "document"], &["文件", "文档"]),
    (&["directory", "folder", "dir"], &["目录", "文件夹"]),
    (&["path"], &["路径"]),
    (&["data", "dataset"], &["数据集", "数据"]),
    (&["table", "dataframe", "frame"], &["表格", "数据表", "数据框"]),
    (&["row", "record"], &["行"]),
    (&["column", "field"], &["列", "字段"]),
    (&["value"], &["值"]),
    (&["weather", "forecast"], &["天气", "气象"]),
    (&["temperature"], &["温度", "气温"]),
    (&["location", "place", "city"], &["地点", "城市", "位置", "地方"]),
    (&["flight", "plane"], &["航班", "机票", "飞机", "飞往", "飞到"]),
    (&["train"], &["火车", "高铁", "车次"]),
    (&["hotel"], &["酒店", "宾馆"]),
    (&["origin", "departure"], &["出发地", "起点", "始发"]),
    (&["destination", "arrival"], &["目的地", "终点", "到达"]),
    (&["date", "day"], &["日期"]),
    (&["time", "clock"], &["时间", "时刻", "几点"]),
    (&["price", "cost"], &["价格", "费用", "多少钱"]),
    (&["stock", "share"], &["股票", "股价"]),
    (&["currency", "exchange"], &["汇率", "货币"]),
    (&["user", "person", "customer"], &["用户", "客户"]),
    (&["message", "note"], &["消息", "信息", "留言"]),
    (&["email"], &["邮件", "邮箱"]),
    (&["structure", "geometry"], &["结构", "几何"]),
    (&["image", "picture", "photo"], &["图片", "图像", "照片"]),
    (&["name", "title"], &["名称", "名字", "标题"]),
    (&["web", "internet", "online"], &["网页", "网上", "联网", "网络"]),
    (&["code", "program"], &["代码", "程序"]),
    (&["test"], &["测试"]),
    (&["celsius", "centigrade"], &["摄氏度", "摄氏"]),
    (&["fahrenheit"], &["华氏度", "华氏"]),
    (&["today"], &["今天", "今日"]),
    (&["tomorrow"], &["明天", "明日"]),
    (&["yesterday"], &["昨天", "昨日"]),
];

/// English stop words.
const STOP: &[&str] = &[
    "the",
    "a",
    "an",
    "of",
    "to",
    "in",
    "for",
    "on",
    "is",
    "are",
    "was",
    "me",
    "my",
    "please",
    "can",
    "could",
    "you",
    "your",
    "i",
    "it",
    "its",
    "with",
    "from",
    "and",
    "or",
    "this",
    "that",
    "these",
    "those",
    "what",
    "which",
    "how",
    "do",
    "does",
    "did",
    "get",
    "give",
    "some",
    "all",
    "any",
    "by",
    "at",
    "be",
    "as",
    "use",
    "using",
    "tool",
    "then",
    "tell",
    "about",
    "want",
    "like",
    "would",
    "there",
    "here",
    "now",
    "so",
    "if",
    "we",
    "us",
    "let",
    "will",
    "one",
    "given",
    "today",
    "tomorrow",
    "yesterday",
    "current",
    "if",
    "not",
    "no",
    "only",
    "e",
    "g",
    "example",
];

/// Chinese stop words.
const STOP_HAN: &[&str] = &[
    "请",
    "帮我",
    "我想",
    "我要",
    "一下",
    "怎么样",
    "怎么",
    "如何",
    "什么",
    "哪些",
    "可以",
    "指定",
    "获取",
    "进行",
    "这个",
    "那个",
    "所有",
    "的",
    "了",
    "吗",
    "呢",
    "把",
    "从",
    "到",
    "和",
    "与",
    "并",
    "再",
    "然后",
    "是",
    "有",
    "在",
    "给",
    "将",
    "里",
    "中",
    "个",
    "可用",
    "如",
    "用",
    "我",
    "你",
    "您",
    "能",
    "吧",
    "现在",
    "当前",
];

/// Returns the concept of an English word or of its stem.
pub(super) fn of_word(word: &str) -> Option<&'static str> {
    CONCEPTS.iter().find(|row| row.0.contains(&word)).map(|row| row.0[0])
}

/// Whether an English word is a stop word.
pub(super) fn is_stop(word: &str) -> bool {
    STOP.contains(&word)
}

/// The beginning of a Chinese text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    /// A word of a concept, with its length in bytes
    Concept(&'static str, usize),
    /// A stop word, with its length in bytes
    Stop(usize),
    /// Something else
    Other,
}

/// Finds the longest known word at the beginning of a Chinese text.
pub(super) fn begin(text: &str) -> Begin {
    let concepts = CONCEPTS.iter().flat_map(|row| row.1.iter().map(|word| (*word, row.0[0])));
    let concept = concepts.filter(|(word, _)| text.starts_with(word)).max_by_key(|own| own.0.len());
    let stop = STOP_HAN.iter().filter(|word| text.starts_with(**word)).map(|word| word.len()).max();
    match (concept, stop) {
        (Some((word, _)), Some(stop)) if stop > word.len() => Begin::Stop(stop),
        (Some((word, concept)), _) => Begin::Concept(concept, word.len()),
        (None, Some(stop)) => Begin::Stop(stop),
        (None, None) => Begin::Other,
    }
}

/// Returns the words of the concept that a word belongs to.
pub(super) fn spellings(word: &str) -> impl Iterator<Item = &'static str> + use<> {
    let row = CONCEPTS.iter().find(|row| row.0.contains(&word) || row.1.contains(&word));
    row.into_iter().flat_map(|row| row.0.iter().chain(row.1)).copied()
}
